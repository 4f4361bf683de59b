// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRecordedAnswers: recorded answers of a real API server have the expected classes. TestAnswers
// in test/integration records them.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name   string        `json:"name"`
		Class  Class         `json:"class"`
		Answer metav1.Status `json:"answer"`
	}
	if err := json.Unmarshal(raw, &all); err != nil || len(all) < 15 {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	for _, a := range all {
		if got := Classify(AnswerOf(&apierrors.StatusError{ErrStatus: a.Answer})); got != a.Class {
			t.Errorf("%s: the class is %d, want %d", a.Name, got, a.Class)
		}
		if got := PatchMismatch(AnswerOf(&apierrors.StatusError{ErrStatus: a.Answer})); got != (a.Name == "PatchTestFails") {
			t.Errorf("%s: a patch that does not apply is %t", a.Name, got)
		}
	}
}

// TestServerTrouble: failures of an API server or its etcd are transient.
func TestServerTrouble(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]Answer{
		"LeaderChanged":    {Code: 500, Message: "etcdserver: leader changed"},
		"RequestTimedOut":  {Code: 500, Message: "etcdserver: request timed out"},
		"ProposalDropped":  {Code: 500, Message: "rpc error: code = Unknown desc = raft proposal dropped"},
		"Unexplained":      {Code: 500},
		"ShuttingDown":     {Code: 503, Message: "apiserver is shutting down"},
		"AggregatedIsDown": {Code: 503, Message: "the server is currently unable to handle the request"},
		"Timeout":          {Code: 504, Reason: metav1.StatusReasonTimeout, Message: "Timeout: request did not complete within requested timeout"},
		"Overloaded":       {Code: 429, Reason: metav1.StatusReasonTooManyRequests},
		"BadGateway":       {Code: 502},
		"Conversion":       {Code: 500, Message: "failed to convert new object (/a; example.com/v1, Kind=A) to proper version: conversion webhook for example.com/v1, Kind=A failed: Post \"https://a.b.svc\": connection refused"},
	} {
		if got := Classify(a); got != Transient {
			t.Errorf("%s: the class is %d", name, got)
		}
	}
}

// outage is the error of another package that describes an outage.
type outage struct{ error }

func (outage) Outage() (server string, since time.Time, cause string) {
	return "a server", time.Unix(5, 0), "it is away"
}

// TestOutageOf: outages of other packages are faults of the infrastructure, and are not repeated by
// requests.
func TestOutageOf(t *testing.T) {
	t.Parallel()
	own := &Outage{Server: "the API server"}
	other := fmt.Errorf("wrapped: %w", outage{errors.New("away")})
	for want, err := range map[Outage]error{
		*own: fmt.Errorf("wrapped: %w", own),
		{Server: "a server", Since: time.Unix(5, 0), Cause: "it is away"}: other,
	} {
		if got := OutageOf(err); got == nil || *got != want || !IsTransient(err) || Classify(AnswerOf(err)) != Final {
			t.Errorf("%v: %+v", err, got)
		}
	}
	if err := errors.New("other"); OutageOf(err) != nil || IsTransient(err) || OutageOf(nil) != nil {
		t.Error("another error is an outage")
	}
}
