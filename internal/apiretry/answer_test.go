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
// and TestDenials in test/integration record them.
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
	denials := map[string]Denial{
		"WebhookDenies": DeniedByWebhook, "DeniedByWebhook": DeniedByWebhook, "DeniedByPolicy": DeniedByPolicy,
		"DeniedByPodSecurity": DeniedByPodSecurity, "DeniedByQuota": DeniedByQuota, "DeniedByLimits": DeniedByLimits,
		"DeniedPort": DeniedByAllocation, "DeniedAddress": DeniedByAllocation,
	}
	for _, a := range all {
		if got := Classify(AnswerOf(&apierrors.StatusError{ErrStatus: a.Answer})); got != a.Class {
			t.Errorf("%s: the class is %d, want %d", a.Name, got, a.Class)
		}
		if got := DenialOf(AnswerOf(&apierrors.StatusError{ErrStatus: a.Answer})); got != denials[a.Name] {
			t.Errorf("%s: the denial is %d, want %d", a.Name, got, denials[a.Name])
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

// TestDenialOf: denials that may depend on other objects are known by their causes, or by the fixed
// beginnings of their messages. Rights and validation never depend on other objects.
func TestDenialOf(t *testing.T) {
	t.Parallel()
	forbidden := func(message string) Answer {
		return Answer{Code: 403, Reason: metav1.StatusReasonForbidden, Message: message}
	}
	invalid := func(causes ...metav1.StatusCause) Answer {
		return Answer{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "it is invalid", Causes: causes}
	}
	cause := func(field, message string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: message}
	}
	const taken = "Invalid value: 30080: provided port is already allocated"
	for name, tc := range map[string]struct {
		answer Answer
		want   Denial
	}{
		"Webhook":         {Answer{Code: 400, Message: `admission webhook "a.example.com" denied the request: no`}, DeniedByWebhook},
		"WebhookInvalid":  {Answer{Code: 422, Reason: metav1.StatusReasonInvalid, Message: `admission webhook "a.example.com" denied the request: no`}, DeniedByWebhook},
		"Policy":          {Answer{Code: 422, Reason: metav1.StatusReasonInvalid, Causes: []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"}}}, DeniedByPolicy},
		"PodSecurity":     {forbidden(`pods "a" is forbidden: violates PodSecurity "restricted:latest": privileged`), DeniedByPodSecurity},
		"Quota":           {forbidden(`pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`), DeniedByQuota},
		"QuotaOfGroup":    {forbidden(`widgets.example.com "a" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1`), DeniedByQuota},
		"QuotaWithLimits": {forbidden(`pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c`), DeniedByLimits},
		"Port":            {invalid(cause("spec.ports[0].nodePort", taken)), DeniedByAllocation},
		"Address":         {invalid(cause("spec.clusterIPs[0]", `Invalid value: ["10.0.0.10"]: failed to allocate IP 10.0.0.10: provided IP is already allocated`)), DeniedByAllocation},
		"PortOutOfRange":  {invalid(cause("spec.ports[0].nodePort", "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767")), NoDenial},
		"PortAndName":     {invalid(cause("spec.ports[0].nodePort", taken), cause("spec.ports[0].name", "Required value")), NoDenial},
		"OtherField":      {invalid(cause("spec.host", "Invalid value: it is already allocated")), NoDenial},
		"Invalid":         {invalid(), NoDenial},
		"Rights":          {forbidden(`pods is forbidden: User "exceeded quota: " cannot create resource "pods" in API group "" in the namespace "prod"`), NoDenial},
		"Quoted":          {forbidden(`pods "a" is forbidden: it violates PodSecurity "restricted"`), NoDenial},
		"Terminating":     {forbidden(`pods "a" is forbidden: unable to create new content in namespace prod because it is being terminated`), NoDenial},
		"Unreachable":     {Answer{Code: 500, Message: `Internal error occurred: failed calling webhook "a.example.com": timeout`}, NoDenial},
		"None":            {Answer{Err: errors.New("reset")}, NoDenial},
	} {
		if got := DenialOf(tc.answer); got != tc.want {
			t.Errorf("%s: the denial is %d, want %d", name, got, tc.want)
		}
	}
}

// TestWebhookCause: the cause is why the API server cannot call the webhook, without its URL.
func TestWebhookCause(t *testing.T) {
	const calling = `Internal error occurred: failed calling webhook "a.example.com"`
	for message, want := range map[string]string{
		calling + `: failed to call webhook: Post "https://a.svc:443/check?timeout=10s": no endpoints available for service "a"`:        `no endpoints available for service "a"`,
		calling + `: failed to call webhook: Post "https://127.0.0.1:7/?timeout=2s": dial tcp 127.0.0.1:7: connect: connection refused`: "connection refused",
		calling + `: failed to call webhook: Post "https://a.svc:443/": context deadline exceeded`:                                      "context deadline exceeded",
		calling + ": failed to call webhook": "the API server cannot call it",
		calling + ": timeout":                "the API server cannot call it",
	} {
		if got := (Answer{Code: 500, Message: message}).Cause(); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
