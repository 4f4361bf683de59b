// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/page/site"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// withLogs is a connection whose API server answers requests for logs: there are no nodes.
type withLogs struct {
	*rest.Config

	text string
}

func (c withLogs) ToRESTConfig() (*rest.Config, error) { return c.Config, nil }

func (c withLogs) HTTPClient() *http.Client {
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/log") {
				return next.RoundTrip(r)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.text)), Request: r}, nil
		})
	})
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		panic(err)
	}
	return h
}

// web is the page, for users whose token is their name. The logs of all Pods have a text.
func (w *world) web(log string) http.Handler {
	w.t.Helper()
	finder := &controller.ConnectionFinder{Live: suite.client, Clusters: cluster.NewConnections(suite.config, cluster.Options{Now: time.Now})}
	as := access.AsRelease(finder.Peek, controller.Scheme())
	logs, err := evidence.New(withLogs{suite.config, log})
	w.must(err)
	pages, err := site.New(site.Options{
		User: func(_ context.Context, token string) (*authenticationv1.UserInfo, error) {
			return &authenticationv1.UserInfo{Username: token, Groups: []string{"system:authenticated"}}, nil
		},
		Source: &access.Source{
			Rights: access.NewRights(suite.client, time.Now), Kept: suite.client, Scheme: controller.Scheme(), Now: time.Now,
			Compare: access.CompareAsRelease(finder.Peek, controller.Scheme(), nil, time.Now), Readiness: access.ReadinessAsRelease(finder.Peek, controller.Scheme()),
			As: func(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error) {
				reader, err := as(ctx, hr)
				if err == nil {
					reader.Examine = logs.Examine
				}
				return reader, err
			},
		},
		Now: time.Now, Health: func() site.Health { return site.Health{} },
	})
	w.must(err)
	return pages
}

// pageOf returns the page of the release as a user sees it.
func (w *world) pageOf(pages http.Handler, user, query string) string {
	w.t.Helper()
	code, body := w.open(pages, user, "/releases/"+w.namespace+"/app"+query)
	if code != http.StatusOK {
		w.t.Errorf("%s%s gets %d: %s", user, query, code, body)
	}
	return body
}

// expectTexts checks texts of a page: those that it has, and those that it does not have.
func (w *world) expectTexts(html string, has, hasNot []string) {
	w.t.Helper()
	for _, text := range has {
		if !strings.Contains(html, text) {
			w.t.Errorf("the page does not have %q:\n%s", text, html)
		}
	}
	for _, text := range hasNot {
		if strings.Contains(html, text) {
			w.t.Errorf("the page has %q", text)
		}
	}
}

// TestPageOfRelease: the page of a release shows the cause with the log, drift, revisions, changes and
// values, each as far as the user has the rights. Values of Secrets are never shown.
func TestPageOfRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	const secret = "canary-of-the-page"
	w.must(suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "passwords"}, StringData: map[string]string{"values.yaml": "password: " + secret + "\n"},
	}))
	const note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {message: {{ .Values.message }}}\n"
	w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/note.yaml": note}))
	hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "passwords"}}
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionWarn}
	})
	w.untilReady(hr)
	pages := w.web("starting\nfatal: password " + secret + " <b>refused</b>\n")
	w.users()

	w.changeNote(hr)
	w.expectTexts(w.pageOf(pages, "admin", ""), []string{"is ready: note@1.0.0", "Drifted", "<code>.data.message</code>", "Revision 1", "InstallSucceeded", "<td>Secret/passwords</td>"}, []string{secret})

	w.failUpgrade(hr)
	w.expectTexts(w.pageOf(pages, "admin", "?from=1&to=2"), []string{
		"is failing (UpgradeFailed)", "CrashLoop", "fatal: password *** &lt;b&gt;refused&lt;/b&gt;", "Revision 2", "by upgrade", "&#43;  message: two", "Runbook",
		`<summary>Deployment`, "app-1-x",
	}, []string{secret, "<b>"})
	w.expectTexts(w.pageOf(pages, "nosecrets", "?from=1&to=2"), []string{
		"CrashLoop", "fatal: password ***", "you need the right to get secrets in namespace " + w.namespace, "you need the right to list secrets in namespace " + w.namespace,
		"only what the status has of them", "Revision 2",
	}, []string{secret, "message: two", "Secret/passwords\": "})
	w.expectTexts(w.pageOf(pages, "nologs", ""), []string{"you need the right to get pods/log", "Revision 2", "<td>inline</td>"}, []string{secret, "fatal:"})
}

// users binds the rights of the users of the page.
func (w *world) users() {
	w.t.Helper()
	const all = "*"
	read := []string{"get", "list"}
	user := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
	objects := []rbacv1.PolicyRule{
		rule(helmv2.GroupVersion.Group, []string{all}, read), rule("apps", []string{all}, read), rule("batch", []string{all}, read),
		rule("", []string{"configmaps", "pods", "events"}, read),
	}
	secrets, logs := rule("", []string{"secrets"}, read), rule("", []string{"pods/log"}, read)
	w.grant("admin", user("admin"), append(objects, secrets, logs)...)
	w.grant("nosecrets", user("nosecrets"), append(objects, logs)...)
	w.grant("nologs", user("nologs"), append(objects, secrets)...)
	for _, name := range []string{"admin", "nosecrets", "nologs"} {
		w.untilAllowed(name, rule("apps", []string{"deployments"}, read))
	}
}

// changeNote changes a live object of the release, and awaits its drift.
func (w *world) changeNote(hr *helmv2.HelmRelease) {
	w.t.Helper()
	note := &corev1.ConfigMap{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "note"}, note))
	note.Data["message"] = "changed"
	w.must(suite.client.Update(w.t.Context(), note))
	w.annotate(hr, "reconcile.fluxcd.io/requestedAt", "drift")
	w.until(hr, "drift", func(hr *helmv2.HelmRelease) bool {
		return apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionDrifted)
	})
}

// failUpgrade upgrades to a chart whose Deployment crashes.
func (w *world) failUpgrade(hr *helmv2.HelmRelease) {
	w.t.Helper()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	go func() {
		done <- w.happen(ctx, &appsv1.Deployment{}, happens{
			pod: `{phase: Running, containerStatuses: [{name: a, image: none, imageID: "", ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3, reason: Error}}}]}`,
		})
	}()
	const note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {message: {{ .Values.message }}}\n---\n"
	w.publish("next", "1.1.0", pack(w.t, "note", "1.1.0", map[string]string{"templates/all.yaml": note + stageDeploy}))
	// One write changes chart and values, so that there is one upgrade.
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef.Name = "next"
		hr.Spec.Timeout, hr.Spec.Values = &metav1.Duration{Duration: expiry}, rawValues(w.t, map[string]any{"message": "two"})
		// The failed revision stays, with its objects.
		hr.Spec.Upgrade = &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{Name: helmv2.ActionStrategyRetryOnFailure, RetryInterval: &metav1.Duration{Duration: time.Hour}}}
	})
	w.must(<-done)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "CrashLoop")
}
