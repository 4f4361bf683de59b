// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"cmp"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// fieldManagers compute managedFields and the results of applies, by kind. Lists are atomic, since
// the server does not know their keys.
type fieldManagers map[schema.GroupVersionKind]*managedfields.FieldManager

func (m fieldManagers) of(object *unstructured.Unstructured, subresource string) *managedfields.FieldManager {
	kind := object.GroupVersionKind()
	if f, ok := m[kind]; ok && subresource == "" {
		return f
	}
	f, err := managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), plain{}, plain{}, plain{}, kind, kind.GroupVersion(), subresource, nil)
	if err != nil {
		panic(err)
	}
	if subresource == "" {
		m[kind] = f
	}
	return f
}

// update returns an object as its manager updates or creates it. before is nil for a new object.
func (m fieldManagers) update(before, object map[string]any, req *http.Request) map[string]any {
	next := &unstructured.Unstructured{Object: object}
	updated := m.of(next, locate(req.URL.Path).subresource).UpdateNoErrors(liveObject(before, next), next, managerOf(req))
	return contentOf(updated)
}

// apply returns the result of applying an object. before is nil for a new object.
func (m fieldManagers) apply(before, object map[string]any, req *http.Request) (map[string]any, error) {
	sent := &unstructured.Unstructured{Object: object}
	live := liveObject(before, sent)
	applied, err := m.of(sent, locate(req.URL.Path).subresource).Apply(live, sent, managerOf(req), req.URL.Query().Get("force") == "true")
	switch {
	case err != nil:
		return nil, err
	case applied == nil:
		// Nothing has changed.
		return deepCopy(before), nil
	}
	return contentOf(applied), nil
}

// liveObject returns the object before a write; empty if the write creates it.
func liveObject(before map[string]any, next *unstructured.Unstructured) *unstructured.Unstructured {
	if before != nil {
		return &unstructured.Unstructured{Object: deepCopy(before)}
	}
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(next.GroupVersionKind())
	empty.SetName(next.GetName())
	empty.SetNamespace(next.GetNamespace())
	return empty
}

func contentOf(object runtime.Object) map[string]any {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		panic("the field manager has returned another type")
	}
	return u.Object
}

// managerOf returns the field manager of a request, which is its user agent by default.
func managerOf(req *http.Request) string {
	agent, _, _ := strings.Cut(req.UserAgent(), "/")
	return cmp.Or(req.URL.Query().Get("fieldManager"), agent, "unknown")
}

// failApply replies with the error of an apply, such as a conflict.
func failApply(rec *httptest.ResponseRecorder, err error) {
	if status, is := errors.AsType[*apierrors.StatusError](err); is {
		answer := status.Status()
		answer.Kind, answer.APIVersion = "Status", "v1"
		reply(rec, int(answer.Code), answer)
		return
	}
	fail(rec, http.StatusBadRequest, err.Error())
}

// plain converts, defaults and makes objects of one version each.
type plain struct{}

func (plain) Convert(_, _, _ any) error { return errors.New("not converted") }

func (plain) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (plain) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (plain) Default(runtime.Object) {}

func (plain) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}
