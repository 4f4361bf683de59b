// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/brief"
)

// Class is the meaning of an answer for its request.
type Class int

const (
	// Answered is success, or an answer about the object or the request: the same
	// request gets the same answer again.
	Answered Class = iota
	// Denied is an answer about the identity of the client: 401 and 403.
	Denied
	// Conflict is a 409 because of a concurrent write: it helps to read the object
	// again, or to repeat a request that names no resourceVersion.
	Conflict
	// Transient is a fault of the infrastructure: repeating the request helps.
	Transient
	// WebhookUnreachable is an admission webhook that the API server cannot call. It is
	// transient, unless the release itself configures that webhook.
	WebhookUnreachable
	// Final is a request that this process does not send again: its context has ended, the
	// lease is lost, or the budget is spent.
	Final
)

// Answer is the outcome of one request, as plain data.
type Answer struct {
	// Err is why there is no answer; nil if there is one.
	Err error
	// Code is the HTTP status code, zero without an answer.
	Code    int32
	Reason  metav1.StatusReason
	Message string
	Causes  []metav1.StatusCause
	// RetryAfter is the Retry-After of the server; zero without one.
	RetryAfter time.Duration
}

// AnswerOf returns the answer in an error of a client. Its Code is zero if the error has none.
func AnswerOf(err error) Answer {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return Answer{Err: err}
	}
	return answerOf(status.Status())
}

func answerOf(status metav1.Status) Answer {
	a := Answer{Code: status.Code, Reason: status.Reason, Message: status.Message}
	if status.Details != nil {
		a.Causes = status.Details.Causes
		a.RetryAfter = time.Duration(status.Details.RetryAfterSeconds) * time.Second
	}
	return a
}

// IsTransient reports whether an error of a client is a fault of the infrastructure. The same
// request may succeed later.
func IsTransient(err error) bool {
	if OutageOf(err) != nil {
		return true
	}
	class := Classify(AnswerOf(err))
	return class == Transient || class == WebhookUnreachable
}

// Classify returns the class of an answer. Some answers differ in nothing but their message:
// only this file reads the messages of API servers.
func Classify(a Answer) Class {
	switch {
	case a.Err != nil:
		return classifyError(a.Err)
	case a.Code == http.StatusUnauthorized, a.Code == http.StatusForbidden:
		return Denied
	case a.Code == http.StatusConflict:
		return classifyConflict(a)
	case a.Code == http.StatusTooManyRequests,
		a.Code == http.StatusBadGateway, a.Code == http.StatusServiceUnavailable, a.Code == http.StatusGatewayTimeout:
		return Transient
	case a.Code == http.StatusInternalServerError:
		return classifyInternal(a)
	}
	return Answered
}

// classifyConflict distinguishes a concurrent write from a field that another manager owns and from
// an object that exists already.
func classifyConflict(a Answer) Class {
	ownedField := slices.ContainsFunc(a.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeFieldManagerConflict })
	if a.Reason != metav1.StatusReasonConflict || ownedField {
		return Answered
	}
	return Conflict
}

// classifyInternal distinguishes a failure of the server from an invalid or denied object, for
// which API servers answer 500 too.
func classifyInternal(a Answer) Class {
	switch {
	case invalidObject(a), WebhookDenied(a):
		return Answered
	case unreachable.MatchString(a.Message):
		return WebhookUnreachable
	}
	return Transient
}

var (
	denied      = regexp.MustCompile(`^(?:[^"]*: )?admission webhook "([^"]+)" denied the request`)
	unreachable = regexp.MustCompile(`failed calling webhook "([^"]+)"`)
	uncalled    = regexp.MustCompile(`(?s)failed calling webhook "[^"]+": failed to call webhook: (?:[A-Z][a-z]+ "[^"]*": )?(?:dial tcp \S+: (?:connect: )?)?(.+)$`)
)

// WebhookDenied reports whether an admission webhook denied the request.
func WebhookDenied(a Answer) bool { return denied.MatchString(a.Message) }

// Denial is why the API server denies a valid object to a client that may write it. The denial may
// depend on other objects, so that the same request may be allowed later in the same action.
type Denial int

const (
	// NoDenial is any other answer. It depends on the object and on the client alone.
	NoDenial Denial = iota
	// DeniedByWebhook is a denial by an admission webhook.
	DeniedByWebhook
	// DeniedByPolicy is a denial by a ValidatingAdmissionPolicy.
	DeniedByPolicy
	// DeniedByPodSecurity is a denial by the Pod Security Standard of the namespace.
	DeniedByPodSecurity
	// DeniedByQuota is a denial because a ResourceQuota is used up.
	DeniedByQuota
	// DeniedByLimits is a denial because a ResourceQuota requires limits, which a LimitRange may set.
	DeniedByLimits
	// DeniedByAllocation is a denial because another object holds a port or an address of a Service.
	DeniedByAllocation
)

// DenialOf returns the denial in an answer. docs/spec/install-upgrade.md has its table.
func DenialOf(a Answer) Denial {
	if WebhookDenied(a) {
		return DeniedByWebhook
	}
	if slices.ContainsFunc(a.Causes, func(c metav1.StatusCause) bool { return strings.HasPrefix(c.Message, deniesPolicy) }) {
		return DeniedByPolicy
	}
	if allocated(a) {
		return DeniedByAllocation
	}
	if a.Reason != metav1.StatusReasonForbidden {
		return NoDenial
	}
	found := forbidden.FindStringSubmatch(a.Message)
	if found == nil {
		return NoDenial
	}
	switch found[1] {
	case deniesPodSecurity:
		return DeniedByPodSecurity
	case lacksLimits:
		return DeniedByLimits
	}
	return DeniedByQuota
}

// Beginnings of the reasons of admission plugins.
const (
	deniesPolicy      = "ValidatingAdmissionPolicy '"
	deniesPodSecurity = "violates PodSecurity "
	lacksLimits       = "failed quota: "
)

// forbidden matches the message about an object that Pod Security or a ResourceQuota denies.
var forbidden = regexp.MustCompile(`^[^ ]+(?: "[^"]*")? is forbidden: (` + deniesPodSecurity + `|` + lacksLimits +
	`|exceeded quota: |status unknown for quota: |insufficient quota to )`)

// allocated reports whether all causes of an answer are ports and addresses that other Services
// hold. A port out of range has a cause for the same field.
func allocated(a Answer) bool {
	return a.Reason == metav1.StatusReasonInvalid && len(a.Causes) > 0 && !slices.ContainsFunc(a.Causes, func(c metav1.StatusCause) bool {
		given := strings.HasSuffix(c.Field, ".nodePort") || strings.HasPrefix(c.Field, "spec.clusterIP")
		return !given || !strings.HasSuffix(c.Message, " is already allocated")
	})
}

// NoDryRun reports whether the API server cannot dry-run a request: an admission webhook has side
// effects, or the server does not support dry runs.
func NoDryRun(a Answer) bool {
	return a.Code == http.StatusBadRequest && strings.Contains(a.Message, "dry run")
}

// NotServed reports whether the API server does not know the path of a request: it does not serve
// the group and version of the object, or no longer does. Such an answer has no Status, unlike the
// answer about a missing object.
func NotServed(err error) bool {
	a := AnswerOf(err)
	return a.Code == http.StatusNotFound &&
		slices.ContainsFunc(a.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// leaderChanged reports whether a request met a change of etcd's leader.
func leaderChanged(a Answer) bool {
	return strings.Contains(a.Message, "etcdserver: leader changed") || strings.Contains(a.Message, "raft proposal dropped")
}

// PatchMismatch reports whether a JSON patch does not apply to the object: it tests for another
// value, or names a path that does not exist. The answer about an invalid result names causes, and
// this one does not.
func PatchMismatch(a Answer) bool {
	return a.Code == http.StatusUnprocessableEntity && len(a.Causes) == 0
}

// invalidObject reports whether server-side apply could not read an object: a field is unknown or
// has an invalid type or value. The API server answers that with 500. A failing conversion webhook is not a fault of the object.
func invalidObject(a Answer) bool {
	return strings.Contains(a.Message, "failed to create typed patch object") ||
		strings.Contains(a.Message, "failed to convert new object") && !strings.Contains(a.Message, "conversion webhook for ")
}

// webhook returns the name of the admission webhook that could not be called; empty for other
// answers.
func (a Answer) webhook() string {
	if found := unreachable.FindStringSubmatch(a.Message); found != nil {
		return found[1]
	}
	return ""
}

// webhookCause returns why the webhook could not be called, without its URL.
func (a Answer) webhookCause() string {
	if found := uncalled.FindStringSubmatch(a.Message); found != nil {
		return brief.Cut(brief.Line(found[1]), maxCause)
	}
	return "the API server cannot call it"
}

// part returns the part of the API server that does not answer; nil if that is unknown.
func (a Answer) part() *UnavailableError {
	var part *UnavailableError
	errors.As(a.Err, &part)
	return part
}

// classifyError classifies a request without an answer. Repeating the request changes neither an
// unverified certificate, which is a wrong configuration, nor an answer that is too large or that no
// API server sends.
func classifyError(err error) Class {
	var (
		notSent    interface{ NotSent() bool }
		unverified *tls.CertificateVerificationError
		request    *url.Error
		lost       *lostError
		part       *UnavailableError
		tooLarge   *TooLargeError
		slow       *SlowError
		answered   interface{ Answered() bool }
	)
	switch {
	case OutageOf(err) != nil, errors.As(err, &notSent) && notSent.NotSent(), errors.Is(err, context.Canceled):
		return Final
	case errors.As(err, &unverified), errors.As(err, &tooLarge), errors.As(err, &answered) && answered.Answered():
		return Answered
	case errors.As(err, &lost):
		// To an action, a slow server is an outage.
		return Transient
	case errors.As(err, &slow):
		return Answered
	case errors.As(err, &request), errors.As(err, &part):
		return Transient
	}
	return Answered
}
