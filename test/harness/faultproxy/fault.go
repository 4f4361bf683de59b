// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is a kind of failure of a request.
type Fault string

const (
	// None passes the request and its answer on.
	None Fault = ""
	// TooMany answers 429 without Retry-After.
	TooMany Fault = "429"
	// TooManyRetryAfter answers 429 with Retry-After.
	TooManyRetryAfter Fault = "429-retry-after"
	// Internal answers 500.
	Internal Fault = "500"
	// BadGateway answers 502 as a load balancer does, without a Status object.
	BadGateway Fault = "502"
	// Unavailable answers 503.
	Unavailable Fault = "503"
	// GatewayTimeout answers 504 as a load balancer does.
	GatewayTimeout Fault = "504"
	// Conflict answers 409 with reason Conflict.
	Conflict Fault = "409"
	// Reset aborts the stream before the request reaches the API server.
	Reset Fault = "reset"
	// Lost aborts the stream after the API server has carried out the request.
	Lost Fault = "lost"
	// InternalDone answers 500 after the API server has carried out the request.
	InternalDone Fault = "500-done"
	// Slow passes the request on after Options.Slow.
	Slow Fault = "slow"
	// Silent aborts the stream after Options.Silent. The request never reaches the API server.
	Silent Fault = "silent"
)

// Faults returns all faults.
func Faults() []Fault {
	return []Fault{
		TooMany, TooManyRetryAfter, Internal, BadGateway, Unavailable, GatewayTimeout, Conflict,
		Reset, Lost, InternalDone, Slow, Silent,
	}
}

// recordPrefix begins the name of a Secret that holds a revision.
const recordPrefix = "sh.helm.release.v1."

// Fits reports whether an API server, or a load balancer before it, could fail the request in this
// way. Reads have no conflicts. Neither have release records without a write of another client,
// which a proxy cannot simulate.
func (f Fault) Fits(r Request) bool {
	if f != Conflict {
		return true
	}
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, r.Verb) &&
		r.Resource != "" && !strings.HasPrefix(r.Name, recordPrefix)
}

// retryAfterSeconds is the Retry-After header of TooManyRetryAfter.
const retryAfterSeconds = 1

// late reports whether the request is carried out before it fails.
func (f Fault) late() bool { return f == Lost || f == InternalDone }

// answer is the content of an injected response.
type answer struct {
	code        int
	contentType string
	body        []byte
	retryAfter  int
}

// answer returns the response for a fault that has one.
func (f Fault) answer(r Request) (answer, bool) {
	resource := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	switch f {
	case TooMany:
		return statusOf(apierrors.NewTooManyRequestsError("the server has received too many requests (injected)")), true
	case TooManyRetryAfter:
		return statusOf(apierrors.NewTooManyRequests("the server has received too many requests (injected)", retryAfterSeconds)), true
	case Internal, InternalDone:
		return statusOf(apierrors.NewInternalError(errors.New("injected"))), true
	case BadGateway, GatewayTimeout:
		code, _ := strconv.Atoi(string(f))
		text := "<html><body><h1>" + string(f) + " " + http.StatusText(code) + "</h1>injected</body></html>\n"
		return answer{code: code, contentType: "text/html", body: []byte(text)}, true
	case Unavailable:
		return statusOf(apierrors.NewServiceUnavailable("the server is currently unable to handle the request (injected)")), true
	case Conflict:
		changed := errors.New("the object has been modified; please apply your changes to the latest version and try again (injected)")
		return statusOf(apierrors.NewConflict(resource, r.Name, changed)), true
	case None, Reset, Lost, Slow, Silent:
	}
	return answer{}, false
}

func statusOf(err *apierrors.StatusError) answer {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	a := answer{code: int(status.Code), contentType: "application/json"}
	if status.Details != nil && status.Code == http.StatusTooManyRequests {
		a.retryAfter = int(status.Details.RetryAfterSeconds)
	}
	// Encoding a Status cannot fail.
	a.body, _ = json.Marshal(status)
	return a
}

// header returns the headers of the response.
func (a answer) header() http.Header {
	h := http.Header{"Content-Type": {a.contentType}, "Content-Length": {strconv.Itoa(len(a.body))}}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	return h
}
