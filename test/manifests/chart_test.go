// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests tests what installs Pintle, config and the chart, as far as no cluster is needed
// for it, and the workflows of GitHub.
package manifests

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/pintle-dev/pintle/test/harness"
)

type values = map[string]any

// kind and name identify objects.
type objects map[string]map[string]any

func keyOf(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

// render returns what the chart makes of values, and why Helm refuses them.
func render(t *testing.T, v values) (objects, error) {
	t.Helper()
	c, err := loader.LoadDir(filepath.Join(harness.Root(), "charts", "pintle"))
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: "any", Namespace: "helm-system", IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(c, v, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	rendered := objects{}
	for name, text := range files {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
			object := &unstructured.Unstructured{}
			if err := d.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			if len(object.Object) > 0 {
				rendered[keyOf(object)] = object.Object
			}
		}
	}
	return rendered, nil
}

func mustRender(t *testing.T, v values) objects {
	t.Helper()
	rendered, err := render(t, v)
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

// kustomize returns what a folder of config makes, without what a chart leaves to Helm.
func kustomize(t *testing.T, dir string) objects {
	t.Helper()
	return kustomizeAt(t, filepath.Join("config", dir))
}

func kustomizeAt(t *testing.T, path string) objects {
	t.Helper()
	all, err := harness.Kustomize(path)
	if err != nil {
		t.Fatal(err)
	}
	built := objects{}
	for _, o := range all {
		if o.GroupVersionKind().Group == "admissionregistration.k8s.io" {
			// kustomize does not know that the kind has no namespace, and the API server ignores it.
			o.SetNamespace("")
		}
		if o.GetKind() != "Namespace" && o.GetKind() != "CustomResourceDefinition" {
			built[keyOf(o)] = o.Object
		}
	}
	return built
}

// TestChartIsConfig: both ways of installing lead to the same.
func TestChartIsConfig(t *testing.T) {
	for dir, v := range map[string]values{"default": nil, "cluster-admin": {"rbac": values{"clusterAdmin": true}}} {
		if diff := cmp.Diff(kustomize(t, dir), mustRender(t, v)); diff != "" {
			t.Errorf("config/%s and the chart (-config +chart):\n%s", dir, diff)
		}
	}
}

// TestEgressIsConfig: the chart has the policy of config/egress, behind a value.
func TestEgressIsConfig(t *testing.T) {
	const key = "NetworkPolicy/helm-controller-egress"
	policy := kustomize(t, "egress")
	if diff := cmp.Diff(policy[key], mustRender(t, values{"networkPolicy": values{"egress": values{"enabled": true}}})[key]); diff != "" || len(policy) != 1 {
		t.Errorf("config/egress, with %d objects, and the chart (-config +chart):\n%s", len(policy), diff)
	}
	d := into[appsv1.Deployment](t, kustomize(t, "default"), "Deployment/helm-controller")
	p := into[networkingv1.NetworkPolicy](t, policy, key)
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil || p.Namespace != d.Namespace || selector.Empty() || !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
		t.Errorf("the policy in %s does not select the Pods: %v", p.Namespace, err)
	}
	if p.Spec.PolicyTypes[0] != networkingv1.PolicyTypeEgress || len(p.Spec.PolicyTypes) != 1 {
		t.Errorf("the policy is for %v", p.Spec.PolicyTypes)
	}
	metadata := netip.MustParseAddr("169.254.169.254")
	for _, rule := range p.Spec.Egress {
		if len(rule.To) == 0 || len(rule.Ports) == 0 {
			t.Errorf("a rule allows everything: %+v", rule)
		}
		for _, to := range rule.To {
			if to.IPBlock == nil || !netip.MustParsePrefix(to.IPBlock.CIDR).Contains(metadata) {
				continue
			}
			if !slices.ContainsFunc(to.IPBlock.Except, func(block string) bool { return netip.MustParsePrefix(block).Contains(metadata) }) {
				t.Errorf("%s allows the metadata service of a cloud", to.IPBlock.CIDR)
			}
		}
	}
}

// TestChartHasWhatIsGenerated: `make manifests` copies it.
func TestChartHasWhatIsGenerated(t *testing.T) {
	root := harness.Root()
	theirs, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(theirs) == 0 {
		t.Fatalf("definitions %v: %v", theirs, err)
	}
	ours, err := filepath.Glob(filepath.Join(root, "charts", "pintle", "crds", "*"))
	if err != nil || len(ours) != len(theirs) {
		t.Errorf("definitions %v and, in the chart, %v: %v", theirs, ours, err)
	}
	for _, path := range theirs {
		if !bytes.Equal(read(t, path), read(t, filepath.Join(root, "charts", "pintle", "crds", filepath.Base(path)))) {
			t.Errorf("%s is another one in the chart: make manifests", filepath.Base(path))
		}
	}
	for role, file := range map[string]string{"rbac/role.yaml": "manager", "rbac/viewer_role.yaml": "viewer", "page/role.yaml": "page"} {
		_, rules, _ := strings.Cut(string(read(t, filepath.Join(root, "config", role))), "\nrules:\n")
		if got := string(read(t, filepath.Join(root, "charts", "pintle", "files", file+"-rules.yaml"))); got != "rules:\n"+rules {
			t.Errorf("the chart has other rules than config/%s: make manifests", role)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// at returns the value at a path below an object, or nil.
func at(object any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := object.(map[string]any)
			object = m[step]
		case int:
			list, _ := object.([]any)
			if step < 0 {
				step += len(list)
			}
			if step < 0 || step >= len(list) {
				return nil
			}
			object = list[step]
		}
	}
	return object
}

// egress enables the policy for egress.
func egress(more values) values {
	all := values{"enabled": true}
	maps.Copy(all, more)
	return values{"egress": all}
}

// webPage enables the page.
func webPage(more values) values {
	all := values{"enabled": true, "tls": values{"secretName": "tls"}}
	maps.Copy(all, more)
	return values{"page": all}
}

// pagePeers enables the page for some peers.
func pagePeers(peers ...any) values {
	all := webPage(nil)
	all["networkPolicy"] = values{"page": peers}
	return all
}

func block(cidr string) values { return values{"ipBlock": values{"cidr": cidr}} }

// TestChartValues: each value changes the field that its comment names.
func TestChartValues(t *testing.T) {
	pod := func(path ...any) []any { return append([]any{"spec", "template", "spec"}, path...) }
	container := func(path ...any) []any { return append(pod("containers", 0), path...) }
	const deployment, absent = "Deployment/helm-controller", "absent"
	cases := map[string]struct {
		values values
		object string
		path   []any
		want   any
	}{
		"Name":           {values{"name": "shard"}, "Deployment/shard", pod("serviceAccountName"), "shard"},
		"NameOfPolicy":   {values{"name": "shard"}, "NetworkPolicy/shard", []any{"spec", "podSelector", "matchLabels", "app"}, "shard"},
		"NameOfBudget":   {values{"name": "shard"}, "PodDisruptionBudget/shard", []any{"spec", "selector", "matchLabels", "app"}, "shard"},
		"DefaultTag":     {nil, deployment, container("image"), "pintle:unreleased"},
		"Tag":            {values{"image": values{"repository": "a.example/b", "tag": "v1"}}, deployment, container("image"), "a.example/b:v1"},
		"Digest":         {values{"image": values{"digest": "sha256:" + strings.Repeat("a", 64)}}, deployment, container("image"), "pintle@sha256:" + strings.Repeat("a", 64)},
		"PullPolicy":     {values{"image": values{"pullPolicy": "Always"}}, deployment, container("imagePullPolicy"), "Always"},
		"PullSecrets":    {values{"imagePullSecrets": []any{values{"name": "a"}}}, deployment, pod("imagePullSecrets", 0, "name"), "a"},
		"Replicas":       {values{"replicas": 2}, deployment, []any{"spec", "replicas"}, int64(2)},
		"LogLevel":       {values{"logLevel": "debug"}, deployment, container("args", 1), "--log-level=debug"},
		"Shard":          {values{"watchLabelSelector": "!sharding.fluxcd.io/key"}, deployment, container("args", -1), "--watch-label-selector=!sharding.fluxcd.io/key"},
		"OneNamespace":   {values{"watchAllNamespaces": false}, deployment, container("args", 0), "--watch-all-namespaces=false"},
		"Identity":       {values{"defaultServiceAccount": "helm"}, deployment, container("args", -1), "--default-service-account=helm"},
		"NoIdentity":     {values{"defaultServiceAccount": ""}, deployment, container("args", -1), "--enable-leader-election"},
		"AdminIdentity":  {values{"rbac": values{"clusterAdmin": true}, "defaultServiceAccount": "helm"}, deployment, container("args", -1), "--default-service-account=helm"},
		"Args":           {values{"extraArgs": []any{"--concurrent=9"}}, deployment, container("args", -1), "--concurrent=9"},
		"Env":            {values{"extraEnv": []any{values{"name": "A", "value": "b"}}}, deployment, container("env", -1, "name"), "A"},
		"NoAccount":      {values{"serviceAccount": values{"create": false, "name": "own"}}, "ServiceAccount/own", nil, absent},
		"OtherAccount":   {values{"serviceAccount": values{"create": false, "name": "own"}}, "ClusterRoleBinding/helm-manager-rolebinding", []any{"subjects", 0, "name"}, "own"},
		"Annotations":    {values{"serviceAccount": values{"annotations": values{"a": "b"}}}, "ServiceAccount/helm-controller", []any{"metadata", "annotations", "a"}, "b"},
		"NoRoles":        {values{"rbac": values{"create": false}}, "ClusterRole/helm-manager-role", nil, absent},
		"Prefix":         {values{"rbac": values{"namePrefix": "shard"}}, "ClusterRoleBinding/shard-manager-rolebinding", []any{"roleRef", "name"}, "shard-manager-role"},
		"OnlyTenants":    {values{"rbac": values{"impersonateEverywhere": false}}, "ClusterRoleBinding/helm-impersonator-rolebinding", nil, absent},
		"OnlyTenants'":   {values{"rbac": values{"impersonateEverywhere": false}}, "ClusterRole/helm-impersonator-role", []any{"rules", 0, "verbs", 0}, "impersonate"},
		"View":           {values{"rbac": values{"viewObjects": true}}, "ClusterRoleBinding/helm-view-rolebinding", []any{"roleRef", "name"}, "view"},
		"NoView":         {nil, "ClusterRoleBinding/helm-view-rolebinding", nil, absent},
		"NoAdmin":        {nil, "ClusterRoleBinding/helm-reconciler-rolebinding", nil, absent},
		"NoNetwork":      {values{"networkPolicy": values{"enabled": false}}, "NetworkPolicy/helm-controller", nil, absent},
		"MetricsPeers":   {values{"networkPolicy": values{"metrics": []any{block("10.0.0.1/32")}}}, "NetworkPolicy/helm-controller", []any{"spec", "ingress", 0, "from", 0, "ipBlock", "cidr"}, "10.0.0.1/32"},
		"NoEgress":       {nil, "NetworkPolicy/helm-controller-egress", nil, absent},
		"EgressName":     {values{"name": "shard", "networkPolicy": egress(nil)}, "NetworkPolicy/shard-egress", []any{"spec", "podSelector", "matchLabels", "app"}, "shard"},
		"EgressDNS":      {values{"networkPolicy": egress(values{"dns": []any{block("10.0.0.1/32")}})}, "NetworkPolicy/helm-controller-egress", []any{"spec", "egress", 0, "to", 0, "ipBlock", "cidr"}, "10.0.0.1/32"},
		"EgressFlux":     {values{"networkPolicy": egress(values{"flux": []any{block("10.0.0.1/32")}})}, "NetworkPolicy/helm-controller-egress", []any{"spec", "egress", 1, "to", 0, "ipBlock", "cidr"}, "10.0.0.1/32"},
		"EgressServers":  {values{"networkPolicy": egress(values{"apiServers": []any{block("10.0.0.1/32")}})}, "NetworkPolicy/helm-controller-egress", []any{"spec", "egress", 2, "to", -1, "ipBlock", "cidr"}, "10.0.0.1/32"},
		"EgressPorts":    {values{"networkPolicy": egress(values{"apiServerPorts": []any{8443}})}, "NetworkPolicy/helm-controller-egress", []any{"spec", "egress", 2, "ports", -1, "port"}, int64(8443)},
		"EgressMore":     {values{"networkPolicy": egress(values{"extraRules": []any{values{"to": []any{block("10.0.0.1/32")}}}})}, "NetworkPolicy/helm-controller-egress", []any{"spec", "egress", 3, "to", 0, "ipBlock", "cidr"}, "10.0.0.1/32"},
		"NoBudget":       {values{"podDisruptionBudget": values{"enabled": false}}, "PodDisruptionBudget/helm-controller", nil, absent},
		"Budget":         {values{"podDisruptionBudget": values{"maxUnavailable": "50%"}}, "PodDisruptionBudget/helm-controller", []any{"spec", "maxUnavailable"}, "50%"},
		"NoPage":         {nil, "Service/helm-controller-page", nil, absent},
		"PageSecret":     {webPage(nil), deployment, pod("volumes", -1, "secret", "secretName"), "tls"},
		"PageUser":       {webPage(values{"anonymousUser": "system:anonymous"}), deployment, container("args", -1), "--ui-anonymous-user=system:anonymous"},
		"PageService":    {webPage(values{"service": values{"type": "NodePort"}}), "Service/helm-controller-page", []any{"spec", "type"}, "NodePort"},
		"PagePort":       {webPage(values{"service": values{"port": 8443}}), "Service/helm-controller-page", []any{"spec", "ports", 0, "port"}, int64(8443)},
		"PageNotes":      {webPage(values{"service": values{"annotations": values{"a": "b"}}}), "Service/helm-controller-page", []any{"metadata", "annotations", "a"}, "b"},
		"PagePeers":      {pagePeers(block("10.0.0.1/32")), "NetworkPolicy/helm-controller-page", []any{"spec", "ingress", 0, "from", 0, "ipBlock", "cidr"}, "10.0.0.1/32"},
		"PagePeers'":     {pagePeers(block("10.0.0.1/32")), "NetworkPolicy/helm-controller", []any{"spec", "ingress", 1}, nil},
		"NoViewers":      {nil, "ClusterRole/helm-viewer-role", nil, absent},
		"Viewers":        {values{"rbac": values{"aggregateToView": true}}, "ClusterRole/helm-viewer-role", []any{"metadata", "labels", "rbac.authorization.k8s.io/aggregate-to-view"}, "true"},
		"NoMonitor":      {nil, "PodMonitor/helm-controller", nil, absent},
		"Monitor":        {values{"monitoring": values{"podMonitor": values{"enabled": true, "interval": "1m"}}}, "PodMonitor/helm-controller", []any{"spec", "podMetricsEndpoints", 0, "interval"}, "1m"},
		"MonitorHonors":  {values{"monitoring": values{"podMonitor": values{"enabled": true}}}, "PodMonitor/helm-controller", []any{"spec", "podMetricsEndpoints", 0, "honorLabels"}, true},
		"MonitorLabels":  {values{"monitoring": values{"podMonitor": values{"enabled": true, "labels": values{"a": "b"}}}}, "PodMonitor/helm-controller", []any{"metadata", "labels", "a"}, "b"},
		"Resources":      {values{"resources": values{"limits": values{"memory": "2Gi"}}}, deployment, container("resources", "limits", "memory"), "2Gi"},
		"Grace":          {values{"terminationGracePeriodSeconds": 60}, deployment, pod("terminationGracePeriodSeconds"), int64(60)},
		"PodAnnotations": {values{"podAnnotations": values{"a": "b"}}, deployment, []any{"spec", "template", "metadata", "annotations", "a"}, "b"},
		"PodLabels":      {values{"podLabels": values{"a": "b"}}, deployment, []any{"spec", "template", "metadata", "labels", "a"}, "b"},
		"Priority":       {values{"priorityClassName": "high"}, deployment, pod("priorityClassName"), "high"},
		"NodeSelector":   {values{"nodeSelector": values{"a": "b"}}, deployment, pod("nodeSelector", "a"), "b"},
		"Tolerations":    {values{"tolerations": []any{values{"key": "a"}}}, deployment, pod("tolerations", 0, "key"), "a"},
		"Affinity":       {values{"affinity": values{"nodeAffinity": values{"a": "b"}}}, deployment, pod("affinity", "nodeAffinity", "a"), "b"},
		"Spread":         {values{"topologySpreadConstraints": []any{values{"topologyKey": "zone"}}}, deployment, pod("topologySpreadConstraints", 0, "topologyKey"), "zone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object, found := mustRender(t, tc.values)[tc.object]
			if tc.want == absent {
				if found {
					t.Errorf("%s is there", tc.object)
				}
				return
			}
			if got := at(object, tc.path...); !cmp.Equal(got, tc.want) {
				t.Errorf("%s at %v is %v, want %v", tc.object, tc.path, got, tc.want)
			}
		})
	}
}

// TestChartRefuses: invalid values are reported before anything is installed.
func TestChartRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		values values
		says   string
	}{
		"Unknown":      {values{"replicaCount": 2}, "additional properties 'replicaCount' not allowed"},
		"UnknownBelow": {values{"rbac": values{"clusterAdmn": true}}, "additional properties 'clusterAdmn' not allowed"},
		"Replicas":     {values{"replicas": -1}, "at '/replicas'"},
		"Text":         {values{"replicas": "2"}, "at '/replicas'"},
		"Level":        {values{"logLevel": "loud"}, "at '/logLevel'"},
		"Argument":     {values{"extraArgs": []any{"concurrent=9"}}, "at '/extraArgs/0'"},
		"Name":         {values{"name": "Not A Name"}, "at '/name'"},
		"Digest":       {values{"image": values{"digest": "latest"}}, "at '/image/digest'"},
		"Budget":       {values{"podDisruptionBudget": values{"maxUnavailable": 0}}, "at '/podDisruptionBudget/maxUnavailable'"},
		"Everything":   {values{"networkPolicy": egress(values{"apiServers": []any{}})}, "at '/networkPolicy/egress/apiServers'"},
		"PageSecret":   {values{"page": values{"enabled": true}}, "at '/page/tls/secretName'"},
		"PagePeers":    {pagePeers(), "at '/networkPolicy/page'"},
		"PagePort":     {webPage(values{"service": values{"port": 0}}), "at '/page/service/port'"},
		"Interval":     {values{"monitoring": values{"podMonitor": values{"interval": "soon"}}}, "at '/monitoring/podMonitor/interval'"},
	} {
		if _, err := render(t, tc.values); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v is answered by %v, want %q", name, tc.values, err, tc.says)
		}
	}
}

// TestSchemaKnowsTheValues: each is in both.
func TestSchemaKnowsTheValues(t *testing.T) {
	dir := filepath.Join(harness.Root(), "charts", "pintle")
	var schema, defaults map[string]any
	for name, into := range map[string]*map[string]any{"values.schema.json": &schema, "values.yaml": &defaults} {
		if err := yaml.Unmarshal(read(t, filepath.Join(dir, name)), into); err != nil {
			t.Fatal(err)
		}
	}
	var compare func(path string, schema, defaults map[string]any)
	compare = func(path string, schema, defaults map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		if ref, ok := schema["$ref"].(string); ok && strings.HasSuffix(ref, "/enabled") {
			properties = map[string]any{"enabled": nil}
		}
		for name, below := range properties {
			value, found := defaults[name]
			if !found && name != "global" {
				t.Errorf("values.yaml lacks %s%s", path, name)
			}
			belowSchema, _ := below.(map[string]any)
			belowValues, _ := value.(map[string]any)
			if belowSchema["additionalProperties"] == false {
				compare(path+name+".", belowSchema, belowValues)
			}
		}
		for name := range defaults {
			if _, found := properties[name]; !found {
				t.Errorf("values.schema.json lacks %s%s", path, name)
			}
		}
	}
	compare("", schema, defaults)
}
