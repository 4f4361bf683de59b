// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// through makes requests of the bench pass a wrapper.
func (b *bench) through(wrap func(next http.RoundTripper) http.RoundTripper) {
	b.t.Helper()
	config := rest.CopyConfig(suite.config)
	config.Wrap(wrap)
	var err error
	b.conn, err = cluster.Connect(config)
	b.must(err)
}

// webhookConfig is the configuration of a webhook for the ConfigMaps of a namespace.
const webhookConfig = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s-checks}
webhooks:
- name: checks.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "%[2]s"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  rules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
`

// TestWebhookThatIsAway: an upgrade fails at once if a webhook cannot be called that its own
// release configures. A webhook of another one interrupts it.
func TestWebhookThatIsAway(t *testing.T) {
	t.Parallel()
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	for name, own := range map[string]bool{"Own": true, "Foreign": false} {
		t.Run(name, func(t *testing.T) {
			// The foreign one is called for at least 30 s.
			if testing.Short() && !own {
				t.Skip("long")
			}
			t.Parallel()
			b := newBench(t)
			checks := fmt.Sprintf(webhookConfig, b.namespace, closed.URL)
			files := map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {v: {{ .Values.v | quote }}}\n"}
			if own {
				files["templates/checks.yaml"] = checks
			}
			archive := pack(t, "note", "1.0.0", files)
			b.mustRun(install, archive, values("v", "1"), helmv2.HelmReleaseSpec{})
			if !own {
				other := &bench{world: b.world, conn: b.conn, runner: b.runner, name: "other"}
				other.mustRun(install, pack(t, "note", "1.0.0", map[string]string{"templates/checks.yaml": checks}), nil, helmv2.HelmReleaseSpec{})
			}
			untilTrue(b.world, "the webhook to be called", func() bool {
				some := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "some"}}
				err := suite.client.Create(t.Context(), some, client.DryRunAll)
				return err != nil && strings.Contains(err.Error(), "failed calling webhook")
			})
			began := time.Now()
			out := b.run(release.Upgrade{Timeout: expiry}, archive, values("v", "2"), helmv2.HelmReleaseSpec{Upgrade: &helmv2.Upgrade{DisableOpenAPIValidation: true}})
			if out.Err == nil || (out.Interrupted == nil) != own {
				t.Fatalf("the upgrade ends with %v, interrupted %+v", out.Err, out.Interrupted)
			}
			if !own && !strings.Contains(out.Interrupted.Server, `admission webhook "checks.example.com" of `) {
				t.Errorf("%q has been unavailable", out.Interrupted.Server)
			}
			// A request is repeated for at least 30 s.
			if !own && (out.Interrupted.Since.Before(began) || time.Since(out.Interrupted.Since) < 30*time.Second) {
				t.Errorf("the upgrade is from %s to %s, and the outage began at %s", began, time.Now(), out.Interrupted.Since)
			}
			if tries := b.asked("PATCH", "/configmaps/app?") - b.asked("PATCH", "/configmaps/app?", "dryRun"); own && tries != 1 {
				t.Errorf("the ConfigMap is applied %d times", tries)
			}
		})
	}
}

// fullChart is a chart whose install sends requests of all kinds. The name of its definition
// differs between runs.
func fullChart(t *testing.T, group string) []byte {
	t.Helper()
	const pod = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: hook-\n  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed}\n"
	return pack(t, "note", "1.0.0", map[string]string{
		"crds/thing.yaml":     strings.ReplaceAll(thingCRD, "GROUP", group),
		"templates/one.yaml":  "apiVersion: " + group + "/v1\nkind: Thing\nmetadata: {name: one}\n",
		"templates/hook.yaml": pod,
		"templates/app.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {found: {{ (lookup \"v1\" \"Namespace\" \"\" \"default\").metadata.name | quote }}}\n",
	})
}

const thingCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// TestOneFaultAround: requests for namespaces, definitions and lookups, dry runs, and hooks that
// the API server would name, are repeated, too.
func TestOneFaultAround(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	around := regexp.MustCompile(`/namespaces(/[^/]+)?$|customresourcedefinitions|/apis/[^/]+/v1$|/things|POST .*/configmaps$|dryRun`)
	for _, fault := range []string{"500", "lost"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			run := func(at int) (matching []string) {
				name := fmt.Sprintf("%s-%s-%d", b.namespace, fault, at)
				f := &faulty{}
				b.through(func(next http.RoundTripper) http.RoundTripper {
					f.next = next
					return transport(func(req *http.Request) (*http.Response, error) {
						what := req.Method + " " + req.URL.Path
						if req.URL.Query().Get("dryRun") != "" {
							what += " dryRun"
						}
						if req.URL.Query().Get("watch") == "" && around.MatchString(what) {
							if matching = append(matching, what); len(matching) == at {
								return faults[fault](next, req)
							}
						}
						return next.RoundTrip(req)
					})
				})
				one := &bench{world: &world{t: t, namespace: name, server: b.server, artifacts: b.artifacts}, conn: b.conn, runner: b.runner, name: "app"}
				out := one.run(install, fullChart(t, name+".example.com"), nil, helmv2.HelmReleaseSpec{
					TargetNamespace: name, Install: &helmv2.Install{CreateNamespace: true},
				})
				if out.Err != nil {
					t.Errorf("request %d, %s: %v\n%s", at, fault, out.Err, strings.Join(matching, "\n"))
					return matching
				}
				hooks := 0
				all := &corev1.ConfigMapList{}
				b.must(suite.client.List(t.Context(), all, client.InNamespace(name)))
				for _, c := range all.Items {
					if strings.HasPrefix(c.Name, "hook-") {
						hooks++
					}
					if c.Name == "app" && c.Data["found"] != "default" {
						t.Errorf("request %d, %s: the lookup found %q", at, fault, c.Data["found"])
					}
				}
				if hooks != 1 || len(one.stored("app")) != 1 {
					t.Errorf("request %d, %s: %d hooks, %d revisions\n%s", at, fault, hooks, len(one.stored("app")), strings.Join(matching, "\n"))
				}
				return matching
			}
			requests := run(0)
			if len(requests) < 8 {
				t.Fatalf("only these are sent:\n%s", strings.Join(requests, "\n"))
			}
			for i := range requests {
				run(i + 1)
			}
		})
	}
}
