// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
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
	answer, message := apiretry.AnswerOf(err), brief.Line(status.Status().Message)
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
		return helmv2.FailureNamespaceNotFound, "namespace " + details.Name + " does not exist"
	case apierrors.IsInvalid(err) && details != nil && len(details.Causes) > 0:
		return helmv2.FailureObjectInvalid, invalidFields(details.Causes)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsInternalError(err):
		return helmv2.FailureObjectInvalid, message
	}
	return helmv2.FailureCreate, message
}

// invalidFields names the first invalid field with its cause, and counts the others. The value, which
// precedes the cause in the message of the API server, is left out: it may be long or secret.
func invalidFields(causes []metav1.StatusCause) string {
	texts := make([]string, 0, len(causes))
	for _, c := range causes {
		text := brief.Line(c.Message)
		if i := strings.LastIndex(text, ": "); i >= 0 {
			text = text[i+2:]
		}
		if c.Field != "" {
			text = c.Field + ": " + text
		}
		texts = append(texts, text)
	}
	return brief.List(texts, 1)
}
