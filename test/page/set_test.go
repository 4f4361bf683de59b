// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// The namespaces of the releases.
const (
	shop          = "shop"
	billing       = "billing"
	observability = "observability"
)

type values = fixture.Values

// set is a realistic set of releases: each state that the page shows.
type set struct {
	*testing.T

	worlds map[string]fixture.World
}

// newSet creates the releases, and waits until each is in its state.
func newSet(t *testing.T) set {
	t.Helper()
	s := set{T: t, worlds: map[string]fixture.World{}}
	for _, name := range []string{shop, billing, observability} {
		s.worlds[name] = fixture.World{T: t, Env: suite.Environment, Namespace: name}
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	s.create(&corev1.Secret{
		ObjectMeta: s.worlds[billing].Meta("ledger-database"), StringData: map[string]string{"password": "never-on-a-page"},
	})
	s.healthy()
	s.failing()
	s.drifted()
	s.waiting()
	s.held()
	s.operations()
	return s
}

func (s set) create(objects ...client.Object) {
	s.Helper()
	s.worlds[shop].Create(objects...)
}

// application returns a chart with the objects of test/charts/hello, by another name.
func (s set) application(name, version string) *helmchart.Chart {
	s.Helper()
	c, err := harness.LoadChart("hello")
	if err != nil {
		s.Fatal(err)
	}
	for _, files := range [][]*helmchart.File{c.Templates, c.Raw, c.Files} {
		for _, f := range files {
			f.Data = []byte(rename(string(f.Data), name))
		}
	}
	c.Schema = []byte(rename(string(c.Schema), name))
	c.Metadata.Name, c.Metadata.Version, c.Metadata.AppVersion = name, version, version
	c.Values["image"] = map[string]any{"repository": "registry.example.com/" + name, "tag": ""}
	return c
}

func rename(text, name string) string { return strings.ReplaceAll(text, "hello", name) }

// install creates a release of an application of the same name, and its source.
func (s set) install(namespace, name, version string, v values, edits ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	s.Helper()
	w := s.worlds[namespace]
	w.Publish(s.application(name, version))
	w.Source(name, suite.Registry.Address, name, sourcev1.OCIRepositoryRef{Tag: version})
	hr := w.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, name), v)
	hr.Labels = map[string]string{"team": namespace}
	for _, edit := range edits {
		edit(hr)
	}
	w.Create(hr)
	return hr
}

// change changes the values of a release.
func (s set) change(hr *helmv2.HelmRelease, v values, edits ...func(*helmv2.HelmRelease)) {
	s.Helper()
	w := s.worlds[hr.Namespace]
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(v)
		for _, edit := range edits {
			edit(hr)
		}
	})
}

// healthy installs and upgrades releases without problems.
func (s set) healthy() {
	s.Helper()
	all := []*helmv2.HelmRelease{
		s.install(shop, "storefront", "4.12.0", values{"replicas": 3, "message": "welcome"}),
		s.install(shop, "catalog", "2.3.1", values{"replicas": 2}),
		s.install(shop, "cart", "1.9.4", values{"replicas": 2}),
		s.install(billing, "invoices", "3.0.2", values{"replicas": 2}),
		s.install(observability, "dashboards", "8.1.0", nil),
		s.install(observability, "tracing", "0.17.3", values{"replicas": 2}),
	}
	for _, hr := range all {
		s.worlds[hr.Namespace].UntilRevision(hr, 1)
	}
	for _, hr := range all[:2] {
		s.change(hr, values{"replicas": 4, "message": "the sale begins"})
		s.worlds[hr.Namespace].UntilRevision(hr, 2)
	}
}

// crash are the lines of the log of a container that ends.
var crash = []string{
	`level=info msg="starting" version=5.2.0 listen=:8080`,
	`level=info msg="connecting to the queue" host=queue.shop.svc:5672`,
	`level=warn msg="no answer, trying again" host=queue.shop.svc:5672 attempt=1`,
	`level=warn msg="no answer, trying again" host=queue.shop.svc:5672 attempt=2`,
	`level=error msg="cannot start" error="dial tcp: lookup queue.shop.svc: no such host"`,
}

// failing installs a release whose upgrade fails, and one whose chart is not there.
func (s set) failing() {
	s.Helper()
	podLogs(func(_, pod string) []string {
		if strings.HasPrefix(pod, "checkout") {
			return crash
		}
		return []string{`level=info msg="exporting" table=products`, `level=error msg="no space left on /exports" free=0`}
	}).serve(s.T)
	checkout := s.install(shop, "checkout", "5.2.0", values{"replicas": 2})
	s.worlds[shop].UntilRevision(checkout, 1)
	s.change(checkout, values{
		"replicas": 2, "message": "now with the queue", "podAnnotations": values{"simulate.pintle.dev/exit-code": "1"},
		// The timeout applies to a hook as well.
		"hook": values{"enabled": false},
	}, func(hr *helmv2.HelmRelease) {
		hr.Spec.Timeout = &metav1.Duration{Duration: 20 * time.Second}
	})
	s.worlds[shop].UntilCondition(checkout, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded)
	w := s.worlds[observability]
	w.Source("probes", suite.Registry.Address, "probes", sourcev1.OCIRepositoryRef{Tag: "1.0.0"})
	probes := w.Draft("probes", fixture.ChartRef(helmv2.KindOCIRepository, "probes"), nil)
	w.Create(probes)
	w.UntilCondition(probes, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady)
}

// drifted installs a release and changes an object of it.
func (s set) drifted() {
	s.Helper()
	w := s.worlds[observability]
	hr := s.install(observability, "alerts", "1.4.0", values{"replicas": 2}, func(hr *helmv2.HelmRelease) {
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionWarn}
	})
	w.UntilRevision(hr, 1)
	deployment := &appsv1.Deployment{}
	w.Get("alerts", deployment)
	before := deployment.DeepCopy()
	deployment.Spec.Template.Spec.Containers[0].Image = "registry.example.com/alerts:1.4.1-hotfix"
	w.Must(suite.Client.Patch(s.Context(), deployment, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
	w.UntilCondition(hr, helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected)
}

// legacy is a claim that only the first version of a chart has.
const legacy = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: {{ .Release.Name }}-exports}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`

// waiting installs a release whose upgrade waits for approval, and one that depends on it.
func (s set) waiting() {
	s.Helper()
	w := s.worlds[billing]
	s.create(&v1alpha1.ReleasePolicy{
		ObjectMeta: w.Meta("production"),
		Spec: v1alpha1.ReleasePolicySpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "production"}}, Approval: v1alpha1.ApprovalDestructive,
		},
	})
	first := s.application("ledger", "7.0.1")
	first.Templates = append(first.Templates, &helmchart.File{Name: "templates/exports.yaml", Data: []byte(legacy)})
	w.Publish(first)
	w.Publish(s.application("ledger", "7.1.0"))
	source := w.Source("ledger", suite.Registry.Address, "ledger", sourcev1.OCIRepositoryRef{Tag: "7.0.1"})
	ledger := w.Draft("ledger", fixture.ChartRef(helmv2.KindOCIRepository, "ledger"), values{"replicas": 2})
	ledger.Labels = map[string]string{"team": billing, "tier": "production"}
	ledger.Spec.ValuesFrom = []helmv2.ValuesReference{{
		Kind: "Secret", Name: "ledger-database", ValuesKey: "password", TargetPath: "global.password",
	}}
	w.Create(ledger)
	w.UntilRevision(ledger, 1)
	before := source.DeepCopy()
	source.Spec.Reference.Tag = "7.1.0"
	w.Must(suite.Client.Patch(s.Context(), source, client.MergeFrom(before)))
	s.change(ledger, values{"replicas": 3})
	w.UntilCondition(ledger, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonAwaitingApproval)
	reports := s.install(billing, "reports", "1.2.0", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "ledger"}}
	})
	w.UntilCondition(reports, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady)
}

// held installs a release that is rolled back.
func (s set) held() {
	s.Helper()
	w := s.worlds[billing]
	hr := s.install(billing, "gateway", "2.0.0", values{"replicas": 2})
	w.UntilRevision(hr, 1)
	s.change(hr, values{"replicas": 2, "message": "strict validation"})
	w.UntilRevision(hr, 2)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationRollbackTo: "1"}
	})
	w.UntilCondition(hr, helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack)
}

const operation = `{"apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation", "metadata": {"name": %q, "namespace": %q},
"spec": {"targetRef": {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "name": %q}, "type": %q,
"engine": "helmHookJob", "parameters": {"hookName": %q}}}`

// operations runs an Operation that succeeds, and one that fails.
func (s set) operations() {
	s.Helper()
	// A Pod that fails at once may be seen later than the failure of its Job.
	exports := s.install(shop, "exports", "0.9.0", values{"hook": values{"podAnnotations": values{
		"simulate.pintle.dev/exit-code": "3", "simulate.pintle.dev/delay": "5s",
	}}})
	s.worlds[shop].UntilRevision(exports, 1)
	for _, o := range []struct {
		namespace, name, target string
		kind                    opsv1alpha1.OperationType
		phase                   opsv1alpha1.OperationPhase
	}{
		{billing, "invoices-migrate", "invoices", opsv1alpha1.TypeMigration, opsv1alpha1.PhaseSucceeded},
		{shop, "exports-nightly", "exports", opsv1alpha1.TypeBackup, opsv1alpha1.PhaseFailed},
	} {
		w := s.worlds[o.namespace]
		manifest := &unstructured.Unstructured{}
		w.Must(manifest.UnmarshalJSON(fmt.Appendf(nil, operation, o.name, o.namespace, o.target, o.kind, o.target+"-pre-upgrade")))
		op := w.CreateOperation(manifest)
		w.UntilOperation(op, "to be "+string(o.phase), func(op *opsv1alpha1.Operation) bool { return op.Status.Phase == o.phase })
	}
}
