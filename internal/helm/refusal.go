// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/brief"
)

// refusalOf returns why the API server refuses an object: a failure code, and the cause in one line, without
// the name of the object. The code is empty for an error that says nothing about the object, such as an
// outage. The text may contain secrets.
func refusalOf(err error) (code, text string) {
	var unserved *meta.NoKindMatchError
	if errors.As(err, &unserved) {
		kind := unserved.GroupKind.Kind
		if unserved.GroupKind.Group != "" {
			kind += "." + unserved.GroupKind.Group
		}
		return helmv2.FailureKindNotServed, "the API server does not serve kind " + kind
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", ""
	}
	answer, message := apiretry.AnswerOf(err), withoutObject(brief.Line(status.Status().Message))
	switch apiretry.DenialOf(answer) {
	case apiretry.DeniedByQuota, apiretry.DeniedByLimits:
		return helmv2.FailureQuotaExceeded, message
	case apiretry.DeniedByWebhook, apiretry.DeniedByPolicy, apiretry.DeniedByPodSecurity, apiretry.DeniedByAllocation:
		return helmv2.FailureAdmissionDenied, message
	case apiretry.NoDenial:
	}
	switch class := apiretry.Classify(answer); {
	case class == apiretry.WebhookUnreachable:
		return helmv2.FailureWebhookUnavailable, message
	case class == apiretry.Denied:
		return helmv2.FailureForbidden, message
	case class != apiretry.Answered:
		return "", ""
	}
	details := status.Status().Details
	switch {
	case apierrors.IsNotFound(err) && details != nil && details.Kind == "namespaces":
		return helmv2.FailureNamespaceNotFound, "Namespace " + details.Name + " does not exist"
	case apierrors.IsInvalid(err) && details != nil && len(details.Causes) > 0:
		return helmv2.FailureObjectInvalid, invalidFields(details.Causes)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsInternalError(err):
		return helmv2.FailureObjectInvalid, message
	}
	return helmv2.FailureCreate, message
}

// withoutObject removes the name of the object from the message of an API server: a cause names it already.
func withoutObject(message string) string {
	if typed, found := strings.CutPrefix(message, "failed to create typed patch object ("); found {
		if _, why, found := strings.Cut(typed, "): "); found {
			return why
		}
	}
	return brief.Denial(message)
}

// withoutValue returns why a field is invalid. The value, which precedes the reason in the message of the API
// server, is left out: it may be long or secret.
func withoutValue(c metav1.StatusCause) string {
	text := brief.Line(c.Message)
	switch c.Type {
	case metav1.CauseTypeFieldValueDuplicate:
		return "the value is there twice"
	case metav1.CauseTypeFieldValueNotFound:
		return "the value is not found"
	case metav1.CauseTypeFieldValueNotSupported:
		if _, allowed, found := strings.Cut(text, "supported values: "); found {
			return "the value is not supported; supported values: " + allowed
		}
		return "the value is not supported"
	case metav1.CauseTypeFieldValueInvalid, metav1.CauseTypeTypeInvalid:
		why := strings.TrimPrefix(text, "Invalid value: ")
		if value, err := strconv.QuotedPrefix(why); err == nil {
			why = strings.TrimPrefix(why[len(value):], ": ")
		} else if i := strings.LastIndex(why, ": "); i >= 0 {
			why = why[i+2:]
		} else {
			why = ""
		}
		return cmp.Or(why, "the value is invalid")
	case metav1.CauseTypeForbidden:
		return strings.TrimPrefix(text, "Forbidden: ")
	case metav1.CauseTypeFieldValueRequired, metav1.CauseTypeTooLong, metav1.CauseTypeTooMany, metav1.CauseTypeInternal,
		metav1.CauseTypeUnexpectedServerResponse, metav1.CauseTypeFieldManagerConflict, metav1.CauseTypeResourceVersionTooLarge:
	}
	return text
}

// invalidFields names the first invalid field with its cause, and counts the others.
func invalidFields(causes []metav1.StatusCause) string {
	texts := make([]string, 0, len(causes))
	for _, c := range causes {
		text := withoutValue(c)
		if c.Field != "" {
			text = c.Field + ": " + text
		}
		texts = append(texts, text)
	}
	return brief.List(texts, 1)
}
