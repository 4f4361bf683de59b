// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// shell runs a command in the root of the project, with kubectl and its kubeconfig.
func (w *world) shell(input []byte, name string, args ...string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	w.must(os.WriteFile(path, kubeconfig(w.t, suite.config), 0o600))
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = harness.Root(), bytes.NewReader(input)
	cmd.Env = []string{"KUBECONFIG=" + path, "HOME=" + dir, "PATH=" + os.Getenv("PINTLE_CLUSTER_BIN") + ":/usr/bin:/bin"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// accounts runs the script for the releases of the test, as the page of operators does.
func (w *world) accounts(options ...string) string {
	w.t.Helper()
	return w.shell(nil, "sh", append([]string{"config/least-privilege/accounts.sh", "--namespace", w.namespace}, options...)...)
}

// may reports whether the account of the releases has a right.
func (w *world) may(verb, group, resource, namespace string) bool {
	w.t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + w.namespace + ":helm-release",
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + w.namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace},
	}}
	w.must(suite.client.Create(w.t.Context(), review))
	return review.Status.Allowed
}

// TestLeastPrivilegeScript: with the objects that config/least-privilege/accounts.sh prints, and no
// other rights, the releases of a cluster that had all rights are installed.
func TestLeastPrivilegeScript(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	mine := w.ownController(config{defaultServiceAccount: "helm-release"})
	objects, records, elsewhere := w.namespace+"-objects", w.namespace+"-records", w.namespace+"-elsewhere"
	for _, name := range []string{objects, records, elsewhere} {
		w.must(suite.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	// The API server of the tests fills no aggregated roles, such as admin.
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}}
	w.must(suite.client.Create(t.Context(), role))
	t.Cleanup(func() { _ = suite.client.Delete(t.Context(), role) })
	w.account("named", "configmaps", "secrets")
	w.secret("elsewhere", map[string][]byte{"value": kubeconfig(t, suite.config)}, nil)

	w.publish("note", "1.0.0", configMapChart(t, "1.0.0"))
	release := func(name string, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
		return w.release(name, nil, append(edit, mine, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "note" })...)
	}
	aimed := func(hr *helmv2.HelmRelease) { hr.Spec.TargetNamespace, hr.Spec.StorageNamespace = objects, records }
	made := func(hr *helmv2.HelmRelease) {
		hr.Spec.TargetNamespace, hr.Spec.Install = w.namespace+"-made", &helmv2.Install{CreateNamespace: true}
	}
	release("named", as("named"))
	local := []*helmv2.HelmRelease{release("first"), release("second"), release("aimed", aimed), release("made", made)}
	far := release("far", in("elsewhere"), func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = elsewhere })
	for _, hr := range append(local, far) {
		w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, w.namespace+"/helm-release (--default-service-account)", "may not read Secrets")
	}

	list := w.accounts("--list")
	for _, name := range []string{"first", "second", "aimed", "made", "far"} {
		if !strings.Contains(list, " "+name+" ") {
			t.Errorf("%s is missing in:\n%s", name, list)
		}
	}
	if strings.Contains(list, " named ") {
		t.Errorf("a release with a ServiceAccount is listed:\n%s", list)
	}
	here := w.accounts("--cluster-role", "view", "--cluster-role", w.namespace+"="+role.Name, "--cluster-role", objects+"="+role.Name, "--cluster-role", w.namespace+"-made="+role.Name)
	if n := strings.Count(here, "kind: ServiceAccount\nmetadata"); n != 1 || !strings.Contains(here, "accounts.sh --remote "+w.namespace+"/Secret/elsewhere") {
		t.Errorf("%d accounts in:\n%s", n, here)
	}
	w.shell([]byte(here), "kubectl", "apply", "-f", "-")
	for _, hr := range local {
		w.edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": now()}
		})
		w.untilReady(hr)
	}
	if w.may("create", "", "configmaps", records) || w.may("list", "", "secrets", "kube-system") || !w.may("create", "", "configmaps", objects) {
		t.Error("the account has other rights than those of its releases")
	}

	// The account has no rights from this cluster where the kubeconfig leads, and needs its own.
	remote := w.accounts("--remote", w.namespace+"/Secret/elsewhere", "--cluster-role", role.Name)
	if strings.Contains(remote, "kind: ServiceAccount\nmetadata") || strings.Contains(remote, "aimed") || !strings.Contains(remote, "namespace: "+elsewhere) {
		t.Errorf("for the other cluster:\n%s", remote)
	}
	w.shell([]byte(remote), "kubectl", "apply", "-f", "-")
	w.edit(far, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": now()}
	})
	w.untilReady(far)
	for _, hr := range append(local, far) {
		w.remove(hr)
	}
}

// TestLeastPrivilegeCommands: the commands of the documentation run as they are written there.
func TestLeastPrivilegeCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pages, err := filepath.Glob(filepath.Join(harness.Root(), "docs", "*.md"))
	w.must(err)
	var all [][]string
	for _, path := range pages {
		page, err := os.ReadFile(path)
		w.must(err)
		all = append(all, regexp.MustCompile(`(?m)^sh (config/least-privilege/accounts\.sh[^>\n]*)`).FindAllStringSubmatch(string(page), -1)...)
	}
	if len(all) < 3 {
		t.Fatalf("the pages have %d commands", len(all))
	}
	for _, command := range all {
		if got := w.shell(nil, "sh", strings.Fields(command[1])...); !strings.Contains(got, "NAMESPACE") && !strings.Contains(got, "#") {
			t.Errorf("%s prints %q", command[0], got)
		}
	}
}
