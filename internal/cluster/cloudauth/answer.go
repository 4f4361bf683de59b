// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"encoding/json"
	"fmt"
	"strings"
)

// parseError returns code and message of the body of an error, in the forms that clouds use.
func parseError(body []byte) (code, message string) {
	var flat struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	if json.Unmarshal(body, &flat) != nil {
		return "", ""
	}
	var nested struct {
		Code    any    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	if json.Unmarshal(flat.Error, &nested) == nil {
		if nested.Status != "" {
			return nested.Status, nested.Message
		}
		return fmt.Sprint(nested.Code), nested.Message
	}
	_ = json.Unmarshal(flat.Error, &code)
	return code, flat.Description
}

// answerCause returns the cause for an answer of a server. status is zero and code and message are
// empty if they are not known.
func answerCause(server string, status int, code, message string) string {
	parts := []string{server + " answered"}
	if status != 0 {
		parts = append(parts, fmt.Sprint(status))
	}
	if code != "" && code != fmt.Sprint(status) {
		parts = append(parts, code)
	}
	text := strings.Join(parts, " ")
	if message != "" {
		text += ": " + message
	}
	return text
}
