// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pintle-dev/pintle/internal/brief"
)

const (
	// maxStatus limits the size of a Status that is read, in bytes.
	maxStatus = 1 << 20
	// maxMessage limits the message of a Status, in bytes. A longer one is left out: a cut could
	// split a secret, and its rest would not be recognized.
	maxMessage = 16 << 10
)

var (
	errNoStatus   = errors.New("which is no Status of Kubernetes")
	errLongStatus = errors.New("whose message is too long")
)

// protobufPrefix is at the start of an object in Protobuf.
const protobufPrefix = "k8s\x00"

// statusIn returns the Status in a body as JSON, with texts of one line each. The error describes
// a body that is not quoted.
func statusIn(contentType string, body []byte) ([]byte, error) {
	if len(body) > maxStatus {
		return nil, errNoStatus
	}
	var status metav1.Status
	var err error
	if raw, found := bytes.CutPrefix(body, []byte(protobufPrefix)); found {
		err = fromProtobuf(raw, &status)
	} else if strings.HasPrefix(contentType, "application/json") {
		err = fromJSON(body, &status)
	} else {
		err = errNoStatus
	}
	if err != nil || status.Kind != "Status" || status.APIVersion != "v1" {
		return nil, errNoStatus
	}
	if status.Message = brief.Clauses(status.Message, nil); len(status.Message) > maxMessage {
		return nil, errLongStatus
	}
	if status.Details != nil {
		for i := range status.Details.Causes {
			if cause := &status.Details.Causes[i]; len(cause.Message) > maxMessage || len(cause.Field) > maxMessage {
				return nil, errLongStatus
			}
			status.Details.Causes[i].Message = brief.Clauses(status.Details.Causes[i].Message, nil)
			status.Details.Causes[i].Field = brief.Clauses(status.Details.Causes[i].Field, nil)
		}
	}
	return json.Marshal(status)
}

// fromJSON decodes a Status without unknown fields and without data after it.
func fromJSON(body []byte, into *metav1.Status) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNoStatus
	}
	return nil
}

func fromProtobuf(raw []byte, into *metav1.Status) error {
	var object runtime.Unknown
	if err := object.Unmarshal(raw); err != nil {
		return err
	}
	if err := into.Unmarshal(object.Raw); err != nil {
		return err
	}
	into.TypeMeta = metav1.TypeMeta{Kind: object.Kind, APIVersion: object.APIVersion}
	return nil
}
