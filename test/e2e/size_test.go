// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// noise returns incompressible data of a size in percent of a Secret: raw, and as comments in YAML.
func noise(percent int, seed byte) (raw, comments []byte) {
	raw = make([]byte, 1<<20*percent/100*3/4)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(raw)
	// Files are encoded twice, which increases texts more than binary data.
	const text = 131
	var lines strings.Builder
	for line := range slices.Chunk(raw[:len(raw)*100/text], 60) {
		lines.WriteString("# " + base64.StdEncoding.EncodeToString(line) + "\n")
	}
	return raw, []byte(lines.String())
}

// sized is chart hello, made larger.
func (w world) sized(version string, enlarge func(*helmchart.Chart)) {
	w.Helper()
	c, err := harness.LoadChart("hello")
	w.Must(err)
	c.Metadata.Version = version
	enlarge(c)
	archive, err := harness.Pack(c)
	w.Must(err)
	w.Must(env.Registry.PushChart(w.Context(), w.Namespace, archive))
}

func withFile(percent int) func(*helmchart.Chart) {
	return func(c *helmchart.Chart) {
		raw, _ := noise(percent, byte(percent))
		harness.AddFile(c, "files/noise", raw)
	}
}

// withDefinitions makes a chart larger by definitions, of a group of their own, and by
// templates.
func withDefinitions(group string, definitions, templates int) func(*helmchart.Chart) {
	return func(c *helmchart.Chart) {
		_, comments := noise(definitions, byte(definitions))
		harness.AddFile(c, "crds/things.yaml", append(comments, fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, group)...))
		_, text := noise(templates, byte(templates+1))
		c.Templates = append(c.Templates, &helmchart.File{Name: "templates/_noise.tpl", Data: slices.Concat([]byte("{{/*\n"), text, []byte("*/}}\n"))})
	}
}

// eventCount returns the number of events of a HelmRelease with a reason.
func (w world) eventCount(hr *helmv2.HelmRelease, reason string) (times int) {
	w.Helper()
	var events corev1.EventList
	w.Must(env.Client.List(w.Context(), &events, client.InNamespace(w.Namespace)))
	for _, e := range events.Items {
		if e.InvolvedObject.Name == hr.Name && e.Reason == reason {
			times += max(1, int(e.Count))
		}
	}
	return times
}

// untilEventCount waits for a number of events with a reason.
func (w world) untilEventCount(hr *helmv2.HelmRelease, reason string, times int) {
	w.Helper()
	w.Must(env.Until(w.Context(), fmt.Sprint(times, " events ", reason), func() (string, bool) {
		count := w.eventCount(hr, reason)
		return strconv.Itoa(count), count >= times
	}, &corev1.Event{ObjectMeta: w.Meta("")}))
	w.equal("events "+reason, w.eventCount(hr, reason), times)
}

// reconcile requests a reconciliation and waits until it has ended.
func (w world) reconcile(hr *helmv2.HelmRelease, token string) {
	w.Helper()
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{fluxmeta.ReconcileRequestAnnotation: token}
	})
	w.Until(hr, "to be reconciled", func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == token })
}

// TestReleaseSize: a release of 0.9 of the size limit is installed, upgraded and reported; one of
// 1.1 is rejected, whatever makes it large, and a smaller one recovers.
func TestReleaseSize(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	t.Run("Files", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.sized("1.0.0", withFile(89))
		source := w.source("hello", env.Registry.Address)
		hr := w.release("hello", "hello", values{"message": "one"})
		w.UntilRevision(hr, 1)
		w.untilEventCount(hr, helmv2.EventReasonReleaseNearlyTooLarge, 1)
		w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"message": "two"}) })
		w.UntilRevision(hr, 2)
		w.reconcile(hr, "nothing is new")
		w.untilEventCount(hr, helmv2.EventReasonReleaseNearlyTooLarge, 2)
		w.refusedFor(hr, source, withFile(110), 2, "files 1", "(largest: files/noise)", ".helmignore")
	})
	t.Run("Definitions", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		group := w.Namespace + ".example.com"
		w.sized("1.0.0", withDefinitions(group, 34, 55))
		source := w.source("hello", env.Registry.Address)
		hr := w.release("hello", "hello", nil)
		w.UntilRevision(hr, 1)
		w.untilEventCount(hr, helmv2.EventReasonReleaseNearlyTooLarge, 1)
		w.refusedFor(hr, source, withDefinitions("other-"+group, 55, 54), 1, "CRDs ", "(largest: crds/things.yaml)", "templates ", "move CustomResourceDefinitions to a chart of their own")
		definition := &unstructured.Unstructured{}
		definition.SetAPIVersion("apiextensions.k8s.io/v1")
		definition.SetKind("CustomResourceDefinition")
		if err := env.Client.Get(t.Context(), client.ObjectKey{Name: "things.other-" + group}, definition); !apierrors.IsNotFound(err) {
			t.Errorf("a definition of the refused chart: %v", err)
		}
	})
}

// refusedFor publishes a chart that is too large and then a smaller one.
func (w world) refusedFor(hr *helmv2.HelmRelease, source *sourcev1.OCIRepository, enlarge func(*helmchart.Chart), revision int, parts ...string) {
	w.Helper()
	w.sized("2.0.0", enlarge)
	w.Get(source.Name, source)
	w.requestReconciliation(source)
	w.UntilCondition(hr, helmv2.ConditionReady, no, helmv2.ReasonReleaseTooLarge, append(parts, "Helm upgrade refused for release ", "with chart hello@2.0.0", "Nothing was changed")...)
	w.UntilCondition(hr, helmv2.ConditionStalled, yes, helmv2.ReasonReleaseTooLarge)
	for _, token := range []string{"one", "two", "three"} {
		w.reconcile(hr, token)
	}
	w.equal("failures", []int64{hr.Status.Failures, hr.Status.UpgradeFailures}, []int64{1, 0})
	w.equal("revision", hr.Status.History[0].Version, revision)
	w.untilEventCount(hr, helmv2.ReasonReleaseTooLarge, 1)
	var records corev1.SecretList
	w.Must(env.Client.List(w.Context(), &records, client.InNamespace(w.Namespace), client.MatchingLabels{"owner": "helm"}))
	w.equal("records", len(records.Items), revision)

	w.sized("2.0.1", func(*helmchart.Chart) {})
	w.Get(source.Name, source)
	w.requestReconciliation(source)
	w.UntilRevision(hr, revision+1)
	w.untilEventCount(hr, helmv2.ReasonReleaseTooLarge, 1)
}
