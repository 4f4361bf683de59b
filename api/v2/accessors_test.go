// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// answers are the results of the accessors for one spec. Tables have only the results that differ
// from the defaults.
type answers map[string]any

func defaults() answers {
	return answers{
		"release":               "web",
		"releaseNamespace":      "shop",
		"storageNamespace":      "shop",
		"helmChart":             "shop-web",
		"interval":              time.Duration(0),
		"timeout":               5 * time.Minute,
		"maxHistory":            5,
		"persistentClient":      true,
		"chartTemplate":         false,
		"chartRef":              false,
		"drift":                 helmv2.DriftDetectionDisabled,
		"wait":                  helmv2.WaitPoller,
		"postRender":            helmv2.PostRenderCombined,
		"install.timeout":       5 * time.Minute,
		"install.strategy":      helmv2.ActionStrategyRemediateOnFailure,
		"install.retryInterval": 5 * time.Minute,
		"install.crds":          helmv2.CRDsCreate,
		"install.ssa":           true,
		"install.retries":       0,
		"install.ignoreTests":   false,
		"install.cleanLast":     false,
		"install.remediation":   helmv2.RemediationUninstall,
		"upgrade.timeout":       5 * time.Minute,
		"upgrade.strategy":      helmv2.ActionStrategyRemediateOnFailure,
		"upgrade.retryInterval": 5 * time.Minute,
		"upgrade.crds":          helmv2.CRDsCreate,
		"upgrade.ssa":           helmv2.ServerSideApplyAuto,
		"upgrade.retries":       0,
		"upgrade.ignoreTests":   false,
		"upgrade.cleanLast":     false,
		"upgrade.remediation":   helmv2.RemediationRollback,
		"upgrade.chartName":     helmv2.ChartNameChangeReinstall,
		"test.enabled":          false,
		"test.ignore":           false,
		"test.timeout":          5 * time.Minute,
		"rollback.timeout":      5 * time.Minute,
		"rollback.ssa":          helmv2.ServerSideApplyAuto,
		"uninstall.timeout":     5 * time.Minute,
		"uninstall.propagation": helmv2.DeletionBackground,
	}
}

func ask(hr *helmv2.HelmRelease, d helmv2.Defaults) answers {
	spec, timeout := hr.Spec, hr.GetTimeout()
	ignore := spec.Test.MustIgnoreFailures()
	install, upgrade := spec.Install.GetRemediation(), spec.Upgrade.GetRemediation()
	return answers{
		"release":               hr.GetReleaseName(),
		"releaseNamespace":      hr.GetReleaseNamespace(),
		"storageNamespace":      hr.GetStorageNamespace(),
		"helmChart":             hr.GetHelmChartName(),
		"interval":              hr.GetInterval(),
		"timeout":               timeout,
		"maxHistory":            hr.Spec.GetMaxHistory(),
		"persistentClient":      hr.UsePersistentClient(),
		"chartTemplate":         hr.HasChartTemplate(),
		"chartRef":              hr.HasChartRef(),
		"drift":                 hr.GetDriftMode(),
		"wait":                  hr.Spec.GetWaitStrategy(d),
		"postRender":            hr.Spec.GetPostRenderStrategy(d),
		"install.timeout":       spec.Install.GetTimeout(timeout),
		"install.strategy":      spec.Install.GetStrategy(d),
		"install.retryInterval": spec.Install.GetRetryInterval(),
		"install.crds":          spec.Install.GetCRDs(),
		"install.ssa":           spec.Install.UseServerSideApply(d),
		"install.retries":       install.GetRetries(),
		"install.ignoreTests":   install.MustIgnoreTestFailures(ignore),
		"install.cleanLast":     install.MustRemediateLastFailure(),
		"install.remediation":   install.GetStrategy(),
		"upgrade.timeout":       spec.Upgrade.GetTimeout(timeout),
		"upgrade.strategy":      spec.Upgrade.GetStrategy(d),
		"upgrade.retryInterval": spec.Upgrade.GetRetryInterval(),
		"upgrade.crds":          spec.Upgrade.GetCRDs(),
		"upgrade.ssa":           spec.Upgrade.GetServerSideApply(),
		"upgrade.retries":       upgrade.GetRetries(),
		"upgrade.ignoreTests":   upgrade.MustIgnoreTestFailures(ignore),
		"upgrade.cleanLast":     upgrade.MustRemediateLastFailure(),
		"upgrade.remediation":   upgrade.GetStrategy(),
		"upgrade.chartName":     spec.Upgrade.GetChartNameChangeStrategy(),
		"test.enabled":          spec.Test.IsEnabled(),
		"test.ignore":           ignore,
		"test.timeout":          spec.Test.GetTimeout(timeout),
		"rollback.timeout":      spec.Rollback.GetTimeout(timeout),
		"rollback.ssa":          spec.Rollback.GetServerSideApply(),
		"uninstall.timeout":     spec.Uninstall.GetTimeout(timeout),
		"uninstall.propagation": spec.Uninstall.GetDeletionPropagation(),
	}
}

func TestAccessors(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		spec     string
		defaults helmv2.Defaults
		want     answers
	}{
		"Empty": {
			reason: "an empty spec gets every default, without a nil pointer being followed",
			spec:   `{}`,
		},
		"EmptyActions": {
			reason: "an empty action is no different from an absent one",
			spec:   `{"install":{"remediation":{}},"upgrade":{"remediation":{}},"test":{},"rollback":{},"uninstall":{},"driftDetection":{}}`,
		},
		"TargetNamespace": {
			reason: "the target namespace becomes part of the name, and leaves the storage where it is",
			spec:   `{"targetNamespace":"live"}`,
			want:   answers{"release": "live-web", "releaseNamespace": "live"},
		},
		"ReleaseName": {
			reason: "a given name is taken as it is",
			spec:   `{"releaseName":"front","targetNamespace":"live","storageNamespace":"store"}`,
			want:   answers{"release": "front", "releaseNamespace": "live", "storageNamespace": "store"},
		},
		"Timeouts": {
			reason: "the timeout of the spec is that of its actions, unless they have their own",
			spec:   `{"timeout":"1m","upgrade":{"timeout":"2m"},"test":{"timeout":"0s"}}`,
			want: answers{
				"timeout": time.Minute, "install.timeout": time.Minute, "upgrade.timeout": 2 * time.Minute,
				"test.timeout": time.Duration(0), "rollback.timeout": time.Minute, "uninstall.timeout": time.Minute,
			},
		},
		"MaxHistoryZero": {
			reason: "0 has a meaning of its own: unlimited",
			spec:   `{"interval":"10m","maxHistory":0,"persistentClient":false}`,
			want:   answers{"interval": 10 * time.Minute, "maxHistory": 0, "persistentClient": false},
		},
		"Chart":    {reason: "chart alone", spec: `{"chart":{}}`, want: answers{"chartTemplate": true}},
		"ChartRef": {reason: "chartRef alone", spec: `{"chartRef":{}}`, want: answers{"chartRef": true}},
		"ChartAndChartRef": {
			reason: "a contradiction is neither of the two",
			spec:   `{"chart":{},"chartRef":{}}`,
		},
		"Remediation": {
			reason: "an upgrade with retries also cleans up after the last of them; an install does not",
			spec:   `{"install":{"remediation":{"retries":3}},"upgrade":{"remediation":{"retries":3,"strategy":"uninstall"}}}`,
			want: answers{
				"install.retries": 3, "upgrade.retries": 3, "upgrade.cleanLast": true,
				"upgrade.remediation": helmv2.RemediationUninstall,
			},
		},
		"UnlimitedRetries": {
			reason: "without a limit there is no last failure",
			spec:   `{"upgrade":{"remediation":{"retries":-1}}}`,
			want:   answers{"upgrade.retries": -1},
		},
		"RemediateLastFailure": {
			reason: "an explicit setting overrides the default from the retries",
			spec: `{"install":{"remediation":{"remediateLastFailure":true}},
			        "upgrade":{"remediation":{"remediateLastFailure":false,"retries":1}}}`,
			want: answers{"install.cleanLast": true, "upgrade.retries": 1},
		},
		"IgnoreTestFailures": {
			reason: "an action goes by the setting of the tests, unless it has its own",
			spec: `{"test":{"enable":true,"ignoreFailures":true},
			        "upgrade":{"remediation":{"ignoreTestFailures":false}}}`,
			want: answers{"test.enabled": true, "test.ignore": true, "install.ignoreTests": true},
		},
		"Strategies": {
			reason: "every word that is given is the answer",
			spec: `{"driftDetection":{"mode":"warn"},"waitStrategy":{"name":"legacy"},"postRenderStrategy":"separate",
			        "install":{"strategy":{"name":"RetryOnFailure","retryInterval":"30s"},"crds":"Skip","serverSideApply":false},
			        "upgrade":{"strategy":{"name":"RetryOnFailure"},"crds":"CreateReplace","serverSideApply":"enabled",
			                   "chartNameChangeStrategy":"InPlaceUpdate"},
			        "rollback":{"serverSideApply":"disabled"},"uninstall":{"deletionPropagation":"orphan"}}`,
			want: answers{
				"drift": helmv2.DriftDetectionWarn, "wait": helmv2.WaitLegacy, "postRender": helmv2.PostRenderSeparate,
				"install.strategy":      helmv2.ActionStrategyRetryOnFailure,
				"install.retryInterval": 30 * time.Second, "install.crds": helmv2.CRDsSkip, "install.ssa": false,
				"upgrade.strategy": helmv2.ActionStrategyRetryOnFailure, "upgrade.crds": helmv2.CRDsCreateReplace,
				"upgrade.ssa":       helmv2.ServerSideApplyEnabled,
				"upgrade.chartName": helmv2.ChartNameChangeInPlaceUpdate,
				"rollback.ssa":      helmv2.ServerSideApplyDisabled, "uninstall.propagation": helmv2.DeletionOrphan,
			},
		},
		"Helm3Defaults": {
			reason:   "the gate changes three defaults, and server-side apply of upgrades is not among them",
			spec:     `{}`,
			defaults: helmv2.Defaults{Helm3: true},
			want: answers{
				"install.ssa": false, "wait": helmv2.WaitLegacy, "postRender": helmv2.PostRenderNoHooks,
			},
		},
		"Helm3DefaultsOverridden": {
			reason:   "the spec wins over the gate",
			spec:     `{"install":{"serverSideApply":true},"waitStrategy":{"name":"poller"},"postRenderStrategy":"combined"}`,
			defaults: helmv2.Defaults{Helm3: true},
		},
		"RetryByDefault": {
			reason:   "the gate counts only where there is no strategy",
			spec:     `{"upgrade":{"strategy":{"name":"RemediateOnFailure"}}}`,
			defaults: helmv2.Defaults{RetryOnFailure: true},
			want:     answers{"install.strategy": helmv2.ActionStrategyRetryOnFailure},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
			if err := json.Unmarshal([]byte(tc.spec), &hr.Spec); err != nil {
				t.Fatal(err)
			}
			want, got := defaults(), ask(hr, tc.defaults)
			for key, value := range tc.want {
				want[key] = value
			}
			for key := range want {
				if got[key] != want[key] {
					t.Errorf("%s\n%s: want %v, got %v", tc.reason, key, want[key], got[key])
				}
			}
		})
	}
}

func TestReferenceAccessors(t *testing.T) {
	var (
		absent   *helmv2.HelmChartTemplate
		noRef    *helmv2.CrossNamespaceSourceReference
		template = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Interval:  &metav1.Duration{Duration: time.Hour},
			SourceRef: helmv2.CrossNamespaceObjectReference{Namespace: "sources"},
		}}
		sourceRef = &helmv2.CrossNamespaceSourceReference{Namespace: "sources"}
	)
	for name, tc := range map[string]struct{ got, want any }{
		"ChartInterval":              {template.GetInterval(time.Minute), time.Hour},
		"ChartIntervalDefault":       {absent.GetInterval(time.Minute), time.Minute},
		"ChartNamespace":             {template.GetNamespace("shop"), "sources"},
		"ChartNamespaceDefault":      {absent.GetNamespace("shop"), "shop"},
		"ChartRefNamespace":          {sourceRef.GetNamespace("shop"), "sources"},
		"ChartRefNamespaceDefault":   {noRef.GetNamespace("shop"), "shop"},
		"DependencyNamespace":        {helmv2.DependencyReference{Namespace: "db"}.GetNamespace("shop"), "db"},
		"DependencyNamespaceDefault": {helmv2.DependencyReference{}.GetNamespace("shop"), "shop"},
		"ValuesKey":                  {helmv2.ValuesReference{ValuesKey: "k"}.GetValuesKey(), "k"},
		"ValuesKeyDefault":           {helmv2.ValuesReference{}.GetValuesKey(), "values.yaml"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: want %v, got %v", name, tc.want, tc.got)
		}
	}
}

// TestActionsAreNeverNil: settings can be read even if the spec has none.
func TestActionsAreNeverNil(t *testing.T) {
	hr := &helmv2.HelmRelease{}
	if hr.Spec.GetInstall().Replace || hr.Spec.GetUpgrade().Force || hr.Spec.GetTest().Enable || hr.Spec.GetRollback().Force || hr.Spec.GetUninstall().KeepHistory {
		t.Error("absent settings are not zero")
	}
	if !reflect.DeepEqual(hr, &helmv2.HelmRelease{}) {
		t.Error("reading settings changed the object")
	}
	hr.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: true}
	if hr.Spec.GetUninstall() != hr.Spec.Uninstall {
		t.Error("present settings are not those of the spec")
	}
}

// TestSnapshotRoundTrip: absent, null and empty values stay distinct, with encoding/json and with
// unstructured maps.
func TestSnapshotRoundTrip(t *testing.T) {
	hook := map[string]*helmv2.TestHookStatus{"smoke": {Phase: helmv2.TestPhaseSucceeded}}
	empty := map[string]*helmv2.TestHookStatus{}
	for name, tc := range map[string]struct {
		in     string
		hooks  map[string]*helmv2.TestHookStatus
		tested bool
	}{
		"NeverTested": {in: `{"name":"web","deleted":null}`},
		"NothingRun":  {in: `{"testHooks":{}}`, hooks: empty, tested: true},
		"Tested":      {in: `{"testHooks":{"smoke":{"lastStarted":null,"phase":"Succeeded"}}}`, hooks: hook, tested: true},
	} {
		t.Run(name, func(t *testing.T) {
			first := &helmv2.Snapshot{}
			if err := json.Unmarshal([]byte(tc.in), first); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(first)
			if err != nil {
				t.Fatal(err)
			}
			second := &helmv2.Snapshot{}
			if err := json.Unmarshal(data, second); err != nil {
				t.Fatal(err)
			}
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(first)
			if err != nil {
				t.Fatal(err)
			}
			third := &helmv2.Snapshot{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, third); err != nil {
				t.Fatal(err)
			}
			if _, written := fields["deleted"]; written {
				t.Errorf("a time that never was is written: %v", fields)
			}
			for _, snapshot := range []*helmv2.Snapshot{first, second, third, first.DeepCopy()} {
				hooks, tested := snapshot.GetTestHooks()
				if !reflect.DeepEqual(hooks, tc.hooks) || tested != tc.tested || !snapshot.Deleted.IsZero() {
					t.Errorf("want %v (tested %t), got %v (tested %t), deleted %v", tc.hooks, tc.tested, hooks, tested, snapshot.Deleted)
				}
			}
		})
	}
}

func TestSetTestHooksRecordsATest(t *testing.T) {
	snapshot := &helmv2.Snapshot{}
	snapshot.SetTestHooks(nil)
	data, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	again := &helmv2.Snapshot{}
	if err := json.Unmarshal(data, again); err != nil {
		t.Fatal(err)
	}
	if _, tested := again.GetTestHooks(); !tested {
		t.Errorf("a test without hooks was forgotten in %s", data)
	}
}

func TestSnapshotNames(t *testing.T) {
	snapshot := &helmv2.Snapshot{Name: "web", Namespace: "shop", Version: 7, ChartName: "nginx", ChartVersion: "1.2.3"}
	if got := snapshot.FullReleaseName(); got != "shop/web.v7" {
		t.Errorf("release: got %s", got)
	}
	if got := snapshot.VersionedChartName(); got != "nginx@1.2.3" {
		t.Errorf("chart: got %s", got)
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := helmv2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{helmv2.HelmReleaseKind, helmv2.HelmReleaseKind + "List"} {
		if _, err := scheme.New(helmv2.GroupVersion.WithKind(kind)); err != nil {
			t.Error(err)
		}
	}
}
