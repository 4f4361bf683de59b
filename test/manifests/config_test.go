// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/test/harness"
)

// into converts an object to its Go type.
func into[T any](t *testing.T, all objects, key string) *T {
	t.Helper()
	typed := new(T)
	if all[key] == nil {
		t.Fatalf("there is no %s", key)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all[key], typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

func container(t *testing.T, dir string) corev1.Container {
	t.Helper()
	d := into[appsv1.Deployment](t, kustomize(t, dir), "Deployment/helm-controller")
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%s has %d containers", dir, len(d.Spec.Template.Spec.Containers))
	}
	return d.Spec.Template.Spec.Containers[0]
}

// TestArguments: the program accepts the arguments of each overlay, and listens at the ports of its
// Deployment.
func TestArguments(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "helm-system")
	theirs := []string{"--watch-all-namespaces", "--log-level=info", "--log-encoding=json", "--enable-leader-election"}
	for dir, want := range map[string][]string{
		"cluster-admin": theirs, "default": append(slices.Clone(theirs), "--default-service-account=helm-release"),
	} {
		c := container(t, dir)
		if !slices.Equal(c.Args, want) {
			t.Errorf("%s has arguments %q, want %q", dir, c.Args, want)
		}
		o, err := options.Parse(c.Args, io.Discard)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		ports := map[string]string{}
		for _, p := range c.Ports {
			ports[p.Name] = ":" + itoa(p.ContainerPort)
		}
		if ports["http-prom"] != o.MetricsAddr || ports["healthz"] != o.HealthAddr {
			t.Errorf("%s has ports %v, and metrics are at %s and probes at %s", dir, ports, o.MetricsAddr, o.HealthAddr)
		}
		for name, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet.Port.StrVal != "healthz" {
				t.Errorf("%s has %s probe %v", dir, name, probe)
			}
		}
	}
}

// TestNothingToGain: a process in the container cannot write files, become root, or gain
// capabilities.
func TestNothingToGain(t *testing.T) {
	for _, dir := range []string{"default", "cluster-admin"} {
		s := container(t, dir).SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
			s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: %+v", dir, s)
		}
	}
}

// TestLeastPrivilegeIsTheDefault: all permissions are granted by the overlay cluster-admin only.
func TestLeastPrivilegeIsTheDefault(t *testing.T) {
	least, all := kustomize(t, "default"), kustomize(t, "cluster-admin")
	var more []string
	for key := range all {
		if least[key] == nil {
			more = append(more, key)
		}
	}
	slices.Sort(more)
	if want := []string{"ClusterRole/helm-reconciler-role", "ClusterRoleBinding/helm-reconciler-rolebinding"}; !slices.Equal(more, want) || len(all) != len(least)+len(want) {
		t.Errorf("cluster-admin has %v more than default, want %v", more, want)
	}
	writes := map[string]bool{}
	for key := range least {
		if !strings.HasPrefix(key, "ClusterRole/") {
			continue
		}
		for _, rule := range into[rbacv1.ClusterRole](t, least, key).Rules {
			if len(rule.NonResourceURLs) > 0 || slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") {
				t.Errorf("%s has a rule for everything: %v", key, rule)
			}
			for _, verb := range rule.Verbs {
				if !slices.Contains([]string{"get", "list", "watch"}, verb) {
					for _, resource := range rule.Resources {
						writes[verb+" "+resource] = true
					}
				}
			}
		}
	}
	want := []string{
		"create events", "create helmcharts", "create ocirepositories", "create releaseplans",
		"delete helmcharts", "delete jobs", "delete ocirepositories", "delete operations", "delete releaseplans",
		"impersonate serviceaccounts", "patch events", "patch helmcharts",
		"patch helmreleases", "patch helmreleases/status", "patch jobs", "patch ocirepositories", "patch operations", "patch operations/status",
		"patch releaseplans", "patch releaseplans/status",
	}
	if got := sorted(writes); !slices.Equal(got, want) {
		t.Errorf("beside reading, the controller itself may %q, want %q", got, want)
	}
}

// TestOneServiceAccount: rights go to the one that the controller runs as, in any
// namespace, and to no other pod's.
func TestOneServiceAccount(t *testing.T) {
	for _, dir := range []string{"default", "cluster-admin"} {
		for _, namespace := range []string{"helm-system", "elsewhere"} {
			all, err := harness.Kustomize(overlay(t, dir, namespace))
			if err != nil {
				t.Fatal(err)
			}
			found := objects{}
			for _, o := range all {
				found[keyOf(o)] = o.Object
			}
			d := into[appsv1.Deployment](t, found, "Deployment/helm-controller")
			account := into[corev1.ServiceAccount](t, found, "ServiceAccount/"+d.Spec.Template.Spec.ServiceAccountName)
			if account.Namespace != namespace || d.Namespace != namespace || found["Namespace/"+namespace] == nil {
				t.Errorf("%s in %s: the Deployment is in %s, its ServiceAccount in %s", dir, namespace, d.Namespace, account.Namespace)
			}
			for key := range found {
				if !strings.HasSuffix(strings.Split(key, "/")[0], "RoleBinding") {
					continue
				}
				b := into[rbacv1.ClusterRoleBinding](t, found, key)
				if len(b.Subjects) != 1 || b.Subjects[0].Name != account.Name || b.Subjects[0].Namespace != account.Namespace {
					t.Errorf("%s in %s: %s is for %v", dir, namespace, key, b.Subjects)
				}
				if found[b.RoleRef.Kind+"/"+b.RoleRef.Name] == nil {
					t.Errorf("%s in %s: %s binds %v, which is not there", dir, namespace, key, b.RoleRef)
				}
			}
		}
	}
}

// overlay puts a folder of config into a namespace, as an overlay of a user does.
func overlay(t *testing.T, dir, namespace string) string {
	t.Helper()
	// Its own links, if the folder of temporary files is one.
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(folder, filepath.Join(harness.Root(), "config", dir))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "kustomization.yaml"), "namespace: "+namespace+"\nresources: ["+base+"]\n")
	return folder
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
