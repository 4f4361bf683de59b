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

// explainAzure returns the cause in an answer of Azure. The text of the library has many lines and
// contains request IDs.
func explainAzure(err error) (string, bool) {
	var denied *azidentity.AuthenticationFailedError
	if errors.As(err, &denied) && denied.RawResponse != nil {
		return azureCause(denied.RawResponse, ""), true
	}
	var answered *azcore.ResponseError
	if errors.As(err, &answered) && answered.RawResponse != nil {
		return azureCause(answered.RawResponse, answered.ErrorCode), true
	}
	return "", false
}

func azureCause(response *http.Response, known string) string {
	server := "Azure"
	if response.Request != nil {
		server = response.Request.URL.Host
	}
	// The library has read the body before and keeps it.
	body, _ := runtime.Payload(response)
	code, message := parseError(body)
	if known != "" {
		code = known
	}
	return answerCause(server, response.StatusCode, code, message)
}
