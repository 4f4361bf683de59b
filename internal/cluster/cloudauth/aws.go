// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"errors"

	"github.com/aws/smithy-go"
)

// operationOfAWS returns the name of the failed operation; empty if the error names none.
func operationOfAWS(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	return operation.Service() + " " + operation.Operation()
}

// explainAWS returns the cause in an answer of AWS. The text of the library contains request IDs.
func explainAWS(err error) (string, bool) {
	var answered smithy.APIError
	if !errors.As(err, &answered) {
		return "", false
	}
	server := operationOfAWS(err)
	if server == "" {
		server = "AWS"
	}
	status := 0
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	return answerCause(server, status, answered.ErrorCode(), answered.ErrorMessage()), true
}
