// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/page/site"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// pages returns a web page that reads from the API server. The token of a request is its user.
func (w *world) pages() http.Handler {
	w.t.Helper()
	as := func(context.Context, *helmv2.HelmRelease) (*read.Reader, error) {
		return &read.Reader{
			Client: suite.client, Mapper: suite.client.RESTMapper(),
			Examine: func(context.Context, release.DiagnosisRequest) *release.Diagnosis { return nil },
			Stored: func(context.Context, release.Target, int) (*read.Record, error) {
				return nil, errors.New("no revision is read here")
			},
		}, nil
	}
	pages, err := site.New(site.Options{
		User: func(_ context.Context, token string) (*authenticationv1.UserInfo, error) {
			return &authenticationv1.UserInfo{Username: token}, nil
		},
		Source: &access.Source{
			Rights: access.NewRights(suite.client, time.Now), Kept: suite.client, Live: suite.client, As: as, Scheme: suite.client.Scheme(), Now: time.Now,
			KeepsOperations: func() bool { return true },
		},
		Now: time.Now, Health: func() site.Health { return site.Health{} },
	})
	w.must(err)
	return pages
}

// grantReads gives a user the right to get and list resources in the namespace of the world.
func (w *world) grantReads(user string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	for i := range rules {
		rules[i].Verbs = []string{"get", "list"}
	}
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: user}
	w.must(suite.client.Create(w.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}))
	w.must(suite.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
	w.untilAllowed(user, rules[0])
}

// untilAllowed waits until the API server has noticed a new right: reviews before are cached for 30 s.
func (w *world) untilAllowed(user string, right rbacv1.PolicyRule) {
	w.t.Helper()
	w.untilReviewed(w.namespace, user, right, true)
}

// open returns the answer to a user.
func (w *world) open(pages http.Handler, user, path string) (code int, body string) {
	w.t.Helper()
	return inTime(func() (int, string) {
		request := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, path, http.NoBody)
		request.Header.Set("Authorization", "Bearer "+user)
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, request)
		return answer.Code, answer.Body.String()
	})
}

func (w *world) expectPage(pages http.Handler, user, path string, code int, parts, absent []string) {
	w.t.Helper()
	got, body := w.open(pages, user, path)
	if got != code {
		w.t.Errorf("%s gets %s with code %d, not %d", user, path, got, code)
	}
	for _, part := range parts {
		if !strings.Contains(body, part) {
			w.t.Errorf("the page %s of %s does not contain %q:\n%s", path, user, part, body)
		}
	}
	for _, part := range absent {
		if strings.Contains(body, part) {
			w.t.Errorf("the page %s of %s contains %q", path, user, part)
		}
	}
}

// TestPageOfOperation: the web page shows an Operation with its Job, its Pod and its result to those
// who may get it, in the list, on its own page and on the page of its release.
func TestPageOfOperation(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	op := w.operate(hr, "once")
	job := w.theJob(op)
	pod := w.runPod(job)
	w.endPod(job, pod, 3)
	w.tidy(op)

	releases := rbacv1.PolicyRule{APIGroups: []string{helmv2.GroupVersion.Group}, Resources: []string{"helmreleases"}}
	operations := rbacv1.PolicyRule{APIGroups: []string{"ops.vworkspace.io"}, Resources: []string{"operations"}}
	pods := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}}
	editor, reader, stranger := w.namespace+"-editor", w.namespace+"-reader", w.namespace+"-stranger"
	plans := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"releaseplans"}}
	w.grantReads(editor, releases, operations, pods, plans)
	w.grantReads(reader, releases)
	pages, own := w.pages(), "/operations/"+w.namespace+"/once"
	w.expectPage(pages, editor, "/operations?namespace="+w.namespace, http.StatusOK, []string{`href="` + own + `"`, "Failed", "web-migrate", `href="/releases/` + w.namespace + `/web"`}, nil)
	w.expectPage(pages, editor, own, http.StatusOK, []string{w.namespace + "/once failed", job.Name, pod.Name, "exit code 3"}, []string{"You may not"})
	w.expectPage(pages, editor, "/releases/"+w.namespace+"/web", http.StatusOK, []string{`href="` + own + `"`, "There is no plan"}, nil)
	w.expectPage(pages, editor, "/operations/"+w.namespace+"/missing", http.StatusNotFound, nil, nil)

	w.expectPage(pages, reader, "/releases/"+w.namespace+"/web", http.StatusOK, []string{"You may not get Operations", "You may not get ReleasePlans"}, []string{own})
	for _, user := range []string{reader, stranger} {
		w.expectPage(pages, user, own, http.StatusNotFound, nil, []string{job.Name})
		w.expectPage(pages, user, "/operations", http.StatusOK, []string{"no Operations that you may get"}, []string{own})
	}
}
