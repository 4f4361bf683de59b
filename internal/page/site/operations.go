// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/list"
)

// operationsPage is the content of the list of Operations.
type operationsPage struct {
	*list.Operations
	// Problems are what is wrong with the parameters. Then no Operations are shown.
	Problems []string
	// Note is why the controller has no Operations; empty if it has.
	Note  string
	Right string
}

// operationPage is the content of the page of one Operation.
type operationPage struct {
	*view.Operation
	// PodsNote and LogsNote are why Pods and logs are not shown; empty if they are.
	PodsNote, LogsNote string
	now                time.Time
}

// AgeOf returns the age of an event.
func (p *operationPage) AgeOf(at time.Time) view.Age { return view.AgeOf(at, p.now) }

// operations lists the Operations that the user may get and that the parameters select.
func (s *site) operations(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	query, problems := list.ParseOperations(r.URL.Query())
	content := &operationsPage{Problems: problems, Right: "get on operations." + opsv1alpha1.GroupVersion.Group}
	all, err := viewer.Operations(r.Context())
	if errors.Is(err, access.ErrNoOperations) {
		content.Note = err.Error()
	} else if err != nil {
		return err
	}
	releases, err := viewer.Releases(r.Context())
	if err != nil {
		return err
	}
	content.Operations = list.OperationsOf(all, releases, query, s.Now())
	s.render(w, r, codeOf(problems), "operations", &layout{Title: "Operations", User: viewer.User, Content: content})
	return nil
}

// operation shows one Operation.
func (s *site) operation(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	op, err := viewer.Operation(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return err
	}
	facts := view.OperationFacts{Operation: op, Now: s.Now()}
	hr, err := viewer.Target(r.Context(), op)
	if err != nil {
		return err
	}
	if hr != nil {
		facts.Release = hr.Name
	}
	content := &operationPage{now: facts.Now}
	facts.Pods, err = viewer.PodsOf(r.Context(), op)
	switch {
	case apierrors.IsForbidden(err):
		content.PodsNote = "You may not list Pods in this namespace."
	case err != nil:
		return err
	}
	content.Operation = view.ExplainOperation(facts)
	err = viewer.Logs(r.Context(), op.Namespace)
	switch {
	case apierrors.IsForbidden(err):
		content.LogsNote, content.Logs = "You may not get the logs of Pods in this namespace.", nil
	case err != nil:
		return err
	}
	s.render(w, r, http.StatusOK, "operation", &layout{Title: op.Namespace + "/" + op.Name, User: viewer.User, Content: content})
	return nil
}

// codeOf returns the status of an answer to a request whose parameters have problems.
func codeOf(problems []string) int {
	if len(problems) > 0 {
		return http.StatusBadRequest
	}
	return http.StatusOK
}
