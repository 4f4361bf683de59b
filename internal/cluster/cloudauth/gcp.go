// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"errors"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
)

// explainGCP returns the cause in an answer of Google. Other errors of its libraries have no type
// and a usable text.
func explainGCP(err error) (string, bool) {
	var answered *googleapi.Error
	if errors.As(err, &answered) {
		code := ""
		if len(answered.Errors) > 0 {
			code = answered.Errors[0].Reason
		}
		return answerCause("Google", answered.Code, code, answered.Message), true
	}
	var denied *oauth2.RetrieveError
	if errors.As(err, &denied) && denied.Response != nil {
		return answerCause("Google", denied.Response.StatusCode, denied.ErrorCode, denied.ErrorDescription), true
	}
	return "", false
}
