// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// binary returns random bytes of a size in percent of a Secret. They cannot be compressed, and
// records are encoded.
func binary(percent int) string {
	random := rand.NewChaCha8([32]byte{byte(percent)})
	data := make([]byte, 1<<20*percent/100*3/4)
	_, _ = random.Read(data)
	return string(data)
}

// text is the same as lines of text, each of which is a comment in YAML.
func text(percent int) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(binary(percent)))
	var lines strings.Builder
	for len(encoded) > 0 {
		n := min(len(encoded), 100)
		lines.WriteString("# " + encoded[:n] + "\n")
		encoded = encoded[n:]
	}
	return lines.String()
}

// events returns the number of events of a HelmRelease with a reason.
func (w *world) events(hr *helmv2.HelmRelease, reason string) (times int) {
	w.t.Helper()
	var list corev1.EventList
	w.must(suite.client.List(w.t.Context(), &list, client.InNamespace(hr.Namespace)))
	for _, e := range list.Items {
		if e.Reason == reason && e.InvolvedObject.Name == hr.Name {
			times += max(1, int(e.Count))
		}
	}
	return times
}

// expectEvents checks the number of events with a reason. They are written in the background.
func (w *world) expectEvents(hr *helmv2.HelmRelease, reason string, want int) {
	w.t.Helper()
	untilTrue(w, "events "+reason, func() bool { return w.events(hr, reason) >= want }, w.allEvents())
	w.recorded(hr)
	if n := w.events(hr, reason); n != want {
		w.t.Errorf("%d events %s, want %d", n, reason, want)
	}
}

// TestTooLarge: a revision over the size limit is rejected before any write, once, until an input
// becomes smaller.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const group = "toolarge.example.com"
	small := map[string]string{
		"templates/data.yaml": dataTemplate, "crds/thing.yaml": definition(group, "v1"), "templates/thing.yaml": thingTemplate(group, "v1"),
	}
	cases := map[string]struct {
		reason string
		more   map[string]string
		values map[string]any
		says   []string
	}{
		"Files": {
			"files alone are too much",
			map[string]string{"files/blob": binary(110)},
			nil,
			[]string{"files 1", "(largest: files/blob)", ".helmignore"},
		},
		"Definitions": {
			"definitions alone are too much",
			map[string]string{"crds/other.yaml": text(110) + definition("other-"+group, "v1")},
			nil,
			[]string{"CRDs 1", "(largest: crds/other.yaml)", "move CustomResourceDefinitions to a chart of their own"},
		},
		"Rendered": {
			"the chart fits, but not with the objects that it renders once its CRD exists", map[string]string{
				"files/blob": binary(60),
				"templates/copy.yaml": "{{ if .Capabilities.APIVersions.Has \"" + group + "/v1/Thing\" }}\napiVersion: v1\nkind: ConfigMap\n" +
					"metadata: {name: copy}\nbinaryData: {blob: {{ .Files.Get \"files/blob\" | b64enc }}}\n{{ end }}\n",
			}, nil, []string{"files 6", "manifest and hooks 6", "split the chart"},
		},
		"Values": {
			"Helm stores values of all sources", nil, values("blob", base64.StdEncoding.EncodeToString([]byte(binary(105)))),
			[]string{"release values 1", "valuesFrom does not help"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "Rendered" {
				t.Skip("long")
			}
			w := newWorld(t)
			files := maps.Clone(small)
			maps.Copy(files, tc.more)
			w.publish("app", "1.0.0", pack(t, "note", "1.0.0", files))
			elsewhere := w.namespace + "-new"
			hr := w.release("app", tc.values, func(hr *helmv2.HelmRelease) {
				hr.Spec.TargetNamespace, hr.Spec.StorageNamespace, hr.Spec.ReleaseName = elsewhere, w.namespace, "app"
				hr.Spec.Install = &helmv2.Install{CreateNamespace: true, Remediation: &helmv2.InstallRemediation{Retries: -1}}
			})
			w.untilSays(hr, "Stalled", metav1.ConditionTrue, helmv2.ReasonReleaseTooLarge)
			w.untilSays(hr, "Ready", metav1.ConditionFalse, helmv2.ReasonReleaseTooLarge,
				append(tc.says, "Helm install refused for release "+elsewhere+"/app with chart note@1.0.0", "Nothing was changed")...)

			w.quiet(hr)
			if n, err := len(w.stored("app")), suite.client.Get(t.Context(), client.ObjectKey{Name: elsewhere}, &corev1.Namespace{}); n != 0 || !apierrors.IsNotFound(err) {
				t.Errorf("%s: %d revisions are stored, the namespace: %v", tc.reason, n, err)
			}
			if w.definition(group) != nil || w.definition("other-"+group) != nil {
				t.Errorf("%s: a definition was made", tc.reason)
			}
			w.expectEvents(hr, helmv2.ReasonReleaseTooLarge, 1)
			if hr.Status.Failures != 1 || hr.Status.InstallFailures != 0 {
				t.Errorf("%s: failures %d, of which count %d", tc.reason, hr.Status.Failures, hr.Status.InstallFailures)
			}
		})
	}
}

// TestNearlyTooLarge: a revision of 80 % or more is reported once. The record has room for the
// final status.
func TestNearlyTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	chart := func(version string, percent int) []byte {
		return pack(t, "note", version, map[string]string{"files/blob": binary(percent), "templates/data.yaml": dataTemplate})
	}
	w.publish("app", "1.0.0", chart("1.0.0", 75))
	hr := w.release("app", nil)
	w.untilReady(hr)
	w.quiet(hr)
	if n := w.events(hr, helmv2.EventReasonReleaseNearlyTooLarge); n != 0 {
		t.Errorf("%d events for 75 %%", n)
	}
	for revision, version := range []string{"1.1.0", "1.2.0"} {
		w.publish("app", version, chart(version, 90))
		w.until(hr, version, func(hr *helmv2.HelmRelease) bool {
			return newest(hr) == revision+2 && condition(hr, "Ready").Status == metav1.ConditionTrue
		})
		w.untilEvent(hr, corev1.EventTypeWarning, helmv2.EventReasonReleaseNearlyTooLarge, "app.v"+string(rune('2'+revision))+" with chart note@"+version, "which is 90 %", "files 9")
		w.expectEvents(hr, helmv2.EventReasonReleaseNearlyTooLarge, revision+1)
	}
}
