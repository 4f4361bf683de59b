// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// explainAzure says what Azure answered. The library's own text has many lines, and
// numbers of requests.
func explainAzure(err error) (string, bool) {
	var denied *azidentity.AuthenticationFailedError
	if errors.As(err, &denied) && denied.RawResponse != nil {
		return saidAzure(denied.RawResponse, ""), true
	}
	var answered *azcore.ResponseError
	if errors.As(err, &answered) && answered.RawResponse != nil {
		return saidAzure(answered.RawResponse, answered.ErrorCode), true
	}
	return "", false
}

func saidAzure(response *http.Response, known string) string {
	who := "Azure"
	if response.Request != nil {
		who = response.Request.URL.Host
	}
	// It was read before, and is kept.
	body, _ := runtime.Payload(response)
	code, message := answer(body)
	if known != "" {
		code = known
	}
	return said(who, response.StatusCode, code, message)
}
