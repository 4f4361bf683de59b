// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestParse(t *testing.T) {
	encoded, err := runtime.Encode(scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), batchv1.SchemeGroupVersion),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "packed"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ method, url, body, namespace, key string }{
		{"GET", "/api/v1/namespaces/prod/secrets/app", "", "prod", "GET/secrets/app"},
		{"GET", "/api/v1/namespaces/prod/secrets", "", "prod", "LIST/secrets"},
		{"GET", "/api/v1/namespaces/prod/secrets?watch=true", "", "prod", "WATCH/secrets"},
		{"GET", "/apis/batch/v1/namespaces/prod/jobs?watch=1&fieldSelector=metadata.name%3Dapp", "", "prod", "WATCH/jobs/app"},
		{"GET", "/apis/batch/v1/jobs?watch=true", "", "", "WATCH/jobs"},
		{"GET", "/api/v1/namespaces/prod/secrets?watch=false", "", "prod", "LIST/secrets"},
		{"PATCH", "/apis/apps/v1/namespaces/prod/deployments/app?fieldManager=x", "", "prod", "PATCH/deployments/app"},
		{"PATCH", "/apis/apps/v1/namespaces/prod/deployments/app?dryRun=All", "", "prod", "DRYRUN-PATCH/deployments/app"},
		{"PATCH", "/apis/helm.toolkit.fluxcd.io/v2/namespaces/prod/helmreleases/app/status", "", "prod", "PATCH/helmreleases.status/app"},
		{"GET", "/api/v1/namespaces/prod/pods/app-x2x7k", "", "prod", "GET/pods/generated"},
		{"GET", "/api/v1/namespaces/prod/pods/app-x2x7k/log?container=a", "", "prod", "GET/pods.log/generated"},
		{"PATCH", "/apis/batch/v1/namespaces/prod/jobs/app-74a5bfeb", "", "prod", "PATCH/jobs/app-generated"},
		{"GET", "/api/v1/namespaces/prod", "", "prod", "GET/namespaces"},
		{"PUT", "/api/v1/namespaces/prod/finalize", "", "prod", "PUT/namespaces.finalize"},
		{"GET", "/api/v1/namespaces", "", "", "LIST/namespaces"},
		{"POST", "/api/v1/namespaces/prod/secrets", `{"metadata":{"name":"app"}}`, "prod", "POST/secrets/app"},
		{"POST", "/apis/example.com/v1/namespaces/prod/things", `{"kind":"Thing","metadata":{"generateName":"app-"}}`, "prod", "POST/things/app-generated"},
		{"POST", "/apis/batch/v1/namespaces/prod/jobs", string(encoded), "prod", "POST/jobs/packed"},
		{"POST", "/apis/batch/v1/namespaces/prod/jobs", "nonsense", "prod", "POST/jobs"},
		{"GET", "/apis/batch/v1", "", "", "GET/apis/batch/v1"},
		{"GET", "/openapi/v3", "", "", "GET/openapi/v3"},
		{"GET", "/", "", "", "GET/"},
	} {
		r := httptest.NewRequest(tc.method, tc.url, strings.NewReader(tc.body))
		got, err := parse(r)
		if err != nil {
			t.Errorf("%s %s: %v", tc.method, tc.url, err)
		}
		if got.Key() != tc.key || got.Namespace != tc.namespace {
			t.Errorf("%s %s: key %s in %q, want %s in %q", tc.method, tc.url, got.Key(), got.Namespace, tc.key, tc.namespace)
		}
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != tc.body {
			t.Errorf("%s %s: the body is %q afterwards: %v", tc.method, tc.url, body, err)
		}
	}
}

func TestConflictsAreHonest(t *testing.T) {
	for _, tc := range []struct {
		request Request
		fits    bool
	}{
		{Request{Verb: http.MethodPatch, Resource: "deployments", Name: "app"}, true},
		{Request{Verb: http.MethodPut, Resource: "helmreleases", Name: "app"}, true},
		{Request{Verb: http.MethodPost, Resource: "jobs", Name: "app"}, true},
		{Request{Verb: http.MethodGet, Resource: "jobs", Name: "app"}, false},
		{Request{Verb: verbWatch, Resource: "jobs"}, false},
		{Request{Verb: http.MethodDelete, Resource: "jobs", Name: "app"}, false},
		{Request{Verb: http.MethodPut, Resource: "secrets", Name: recordPrefix + "app.v1"}, false},
	} {
		if got := Conflict.Fits(tc.request); got != tc.fits {
			t.Errorf("%s: %v", tc.request.Key(), got)
		}
		if !Lost.Fits(tc.request) {
			t.Errorf("%s cannot be lost", tc.request.Key())
		}
	}
	if n := len(FaultsFor(Request{Verb: verbWatch, Resource: "jobs"})); n != len(Faults())-1 {
		t.Errorf("%d ways for a watch", n)
	}
}
