// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"errors"

	"github.com/aws/smithy-go"
)

// operationOfAWS names what was asked of AWS; empty if nothing was.
func operationOfAWS(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	return operation.Service() + " " + operation.Operation()
}

// explainAWS says what AWS answered. The library's own text has numbers of requests.
func explainAWS(err error) (string, bool) {
	var answered smithy.APIError
	if !errors.As(err, &answered) {
		return "", false
	}
	who := operationOfAWS(err)
	if who == "" {
		who = "AWS"
	}
	status := 0
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	return said(who, status, answered.ErrorCode(), answered.ErrorMessage()), true
}
