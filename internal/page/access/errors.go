// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// Denied is the error for a right that the user does not have. apierrors.IsForbidden is true for it.
type Denied struct {
	Right authorizationv1.ResourceAttributes
}

// Error returns a sentence that names the right, and no object.
func (d *Denied) Error() string {
	resource := schema.GroupResource{Group: d.Right.Group, Resource: d.Right.Resource}.String()
	if d.Right.Subresource != "" {
		resource += "/" + d.Right.Subresource
	}
	where := " in all namespaces"
	if d.Right.Namespace != "" {
		where = " in namespace " + d.Right.Namespace
	}
	return "you need the right to " + d.Right.Verb + " " + resource + where
}

// Status implements apierrors.APIStatus.
func (d *Denied) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: d.Error()}
}

// unread is the error for an object that could not be read. Its text has no address and no text of a
// server. The cause is for the log.
type unread struct {
	text  string
	cause error
}

func (u *unread) Error() string { return u.text }

// Unwrap returns the cause.
func (u *unread) Unwrap() error { return u.cause }

// public returns an error whose text users may see.
func (v *Viewer) public(err error) error {
	var denied *Denied
	var known *unread
	text := "it could not be read, and the log of the controller has the error"
	switch {
	case err == nil, errors.As(err, &denied), errors.As(err, &known):
		return err
	case apierrors.IsNotFound(err):
		text = "it does not exist"
	case apimeta.IsNoMatchError(err):
		text = "its kind is not served"
	case apierrors.IsForbidden(err):
		text = "the identity of the release may not read it"
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		text = "the API server did not answer in time"
	case errors.Is(err, context.Canceled):
		text = "the request ended"
	default:
		v.Log.Info("not read for the web page", "error", err.Error())
	}
	return &unread{text: text, cause: err}
}

// publicValues is public for values that cannot be composed: what this program says of them is public, but
// not what the server of an artifact answers.
func (v *Viewer) publicValues(err error) error {
	if errors.Is(err, inputs.ErrNotInTime) {
		return &unread{text: inputs.ErrNotInTime.Error(), cause: err}
	}
	if blocked, is := errors.AsType[*release.Blocked](err); is && blocked.Reason != helmv2.ReasonArtifactFailed {
		return err
	}
	return v.public(err)
}
