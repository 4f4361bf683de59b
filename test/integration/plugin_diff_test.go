// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// proposal writes a file with a changed copy of a HelmRelease, and returns its name.
func (w *world) proposal(hr *helmv2.HelmRelease, change func(*helmv2.HelmRelease)) string {
	w.t.Helper()
	next := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name}, Spec: *hr.Spec.DeepCopy()}
	next.SetGroupVersionKind(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind))
	change(next)
	raw, err := yaml.Marshal(map[string]any{"apiVersion": next.APIVersion, "kind": next.Kind, "metadata": map[string]any{"namespace": next.Namespace, "name": next.Name}, "spec": next.Spec})
	w.must(err)
	return w.file("release.yaml", raw)
}

// file writes a file, and returns its name.
func (w *world) file(name string, content []byte) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	w.must(os.WriteFile(path, content, 0o600))
	return path
}

// written returns the resourceVersions of the HelmReleases, ConfigMaps and Secrets of the namespace.
func (w *world) written() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{&helmv2.HelmReleaseList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
		w.must(suite.client.List(w.t.Context(), list, client.InNamespace(w.namespace)))
		switch l := list.(type) {
		case *helmv2.HelmReleaseList:
			for i := range l.Items {
				all["release "+l.Items[i].Name] = l.Items[i].ResourceVersion
			}
		case *corev1.ConfigMapList:
			for i := range l.Items {
				all["ConfigMap "+l.Items[i].Name] = l.Items[i].ResourceVersion
			}
		case *corev1.SecretList:
			for i := range l.Items {
				all["Secret "+l.Items[i].Name] = l.Items[i].ResourceVersion
			}
		}
	}
	return all
}

// unwritten checks that act leaves all objects of the namespace as they are.
func (w *world) unwritten(act func()) {
	w.t.Helper()
	before := w.written()
	act()
	if after := w.written(); !maps.Equal(before, after) {
		w.t.Errorf("before the diff: %v\nafter it: %v", before, after)
	}
}

// TestPluginDiff: kubectl pintle diff states what an upgrade, a rollback, the correction of drift and a
// HelmRelease of a file would change, and writes nothing.
func TestPluginDiff(t *testing.T) {
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.revised([]string{"one", "two"})
	k, app := w.kubeconfig(), "ConfigMap "+w.namespace+"/app"
	says := func(message string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": message}) }
	}
	w.unwritten(func() {
		w.expectPlugin(k, 0, "diff app", "/app: no differences")
		w.expectPlugin(k, 0, "diff app --drift", "/app: no differences")
		w.expectPlugin(k, 0, "diff app --revision 2", "/app: no differences")
		w.expectPlugin(k, 1, "diff app --revision 1", "Rollback", "changed   "+app, `.data.message: "two" to "one"`)
		w.expectPlugin(k, 2, "diff app --revision 7", "revision 7 of release app")
		w.expectPlugin(k, 0, "diff -f "+w.proposal(hr, says("two")), "no differences")
		w.expectPlugin(k, 1, "diff -f "+w.proposal(hr, says("three")), "Upgrade", "changed   "+app, `.data.message: "two" to "three"`, "message (inline, over chart)")
		next := w.file("note-1.1.0.tgz", pack(t, "note", "1.1.0", map[string]string{
			"templates/new.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {message: {{ .Values.message }}}\n",
		}))
		w.expectPlugin(k, 1, "diff -f "+w.proposal(hr, says("three"))+" --chart "+next,
			"to note@1.1.0", "deleted   "+app, "created   ConfigMap "+w.namespace+"/new", "+  message: three")
		fresh := w.proposal(hr, func(hr *helmv2.HelmRelease) { hr.Name = "fresh" })
		w.expectPlugin(k, 1, "diff -f "+fresh, "/fresh: Install", "created   ConfigMap "+w.namespace+"/fresh")
		w.expectPlugin(k, 2, "diff -f "+w.proposal(hr, says("three"))+" --chart "+w.file("broken.tgz", []byte("no archive")), "error: ")
		w.expectPlugin(k, 2, "diff app --as=stranger", "is forbidden")
	})
	cm := w.configMap("app")
	cm.Data["message"] = "edited"
	w.must(suite.client.Update(t.Context(), cm, client.FieldOwner("kubectl-edit")))
	w.unwritten(func() {
		w.expectPlugin(k, 1, "diff app --drift", "changed   "+app, `.data.message: "edited" to "two", set by kubectl-edit`)
		w.expectPlugin(k, 0, "diff app", "no differences")
	})
	// Nothing is applied while the release is suspended, and the diff states what would be.
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true; says("four")(hr) })
	w.untilObserved(hr)
	w.unwritten(func() {
		w.expectPlugin(k, 1, "diff app", "Upgrade", `.data.message: "edited" to "four", set by kubectl-edit`)
	})
}

// TestPluginDiffSecrets: no diff has a value of a Secret, and without the right to read Secrets there is
// an error about it.
func TestPluginDiffSecrets(t *testing.T) {
	const old, rotated = "orange-bicycle-71", "velvet-anchor-93"
	w := newWorld(t)
	w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{
		"templates/all.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData: {password: {{ .Values.password }}}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {quoted: \"it is {{ .Values.password }}\", message: {{ .Values.message }}}\n",
		"templates/NOTES.txt": "it is {{ .Values.password }}",
	}))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "values"}, StringData: map[string]string{"values.yaml": "password: " + old}}
	w.must(suite.client.Create(t.Context(), secret))
	hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "values"}}
	})
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.untilObserved(hr)
	before := secret.DeepCopy()
	secret.StringData = map[string]string{"values.yaml": "password: " + rotated}
	w.must(suite.client.Patch(t.Context(), secret, client.MergeFrom(before)))
	cm := w.configMap("app")
	cm.Data["quoted"] = "edited"
	w.must(suite.client.Update(t.Context(), cm))
	k := w.kubeconfig()
	file := w.proposal(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.unwritten(func() {
		for _, command := range []string{"diff app", "diff app --drift", "diff app --revision 1", "diff -f " + file} {
			for _, format := range []string{"wide", "json"} {
				code, output := w.plugin(k, append(strings.Fields(command), "-o", format)...)
				if code != 1 || !strings.Contains(output, "***") {
					t.Errorf("kubectl pintle %s ends with exit code %d, or masks nothing", command, code)
				}
				for _, value := range []string{old, rotated} {
					if strings.Contains(output, value) || strings.Contains(output, base64.StdEncoding.EncodeToString([]byte(value))) {
						t.Errorf("kubectl pintle %s prints %s", command, value)
					}
				}
			}
		}
	})
	w.grant("reader", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "reader"}, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"helmreleases", "ocirepositories", "configmaps"}, Verbs: []string{"*"}})
	for _, command := range []string{"diff app", "diff app --drift", "diff app --revision 1", "diff -f " + file} {
		w.expectPlugin(k, 2, command+" --as=reader", "secrets", "forbidden")
	}
}

// TestPluginDiffEdited: an upgrade applies also the objects that both revisions have in the same form, and
// so undoes edits of them. The diff states that for server-side and client-side apply.
func TestPluginDiffEdited(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, mode := range []helmv2.ServerSideApplyMode{helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
			hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
				hr.Spec.Upgrade = &helmv2.Upgrade{ServerSideApply: mode}
			})
			w.untilReady(hr)
			cm := w.configMap("app")
			cm.Data["message"] = "edited"
			w.must(suite.client.Update(t.Context(), cm, client.FieldOwner("kubectl-edit")))
			unused := func(hr *helmv2.HelmRelease) {
				hr.Spec.Values = rawValues(t, map[string]any{"message": "one", "unused": 1})
			}
			w.expectPlugin(w.kubeconfig(), 1, "diff -f "+w.proposal(hr, unused), "Upgrade", `.data.message: "edited" to "one", set by kubectl-edit`)
			w.edit(hr, unused)
			w.untilReady(hr)
			if got := w.message("app"); got != "one" {
				t.Errorf("after the upgrade, the message is %q", got)
			}
		})
	}
}

// TestPluginDiffLookups: templates read with the rights of the release, and not with those of the user.
func TestPluginDiffLookups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("tenant", "configmaps", "secrets")
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "one"}, as("tenant"))
	w.untilReady(hr)
	// The tenant may read ConfigMaps, and no ServiceAccounts.
	reads := func(kind, name string) string {
		return w.file("note-1.1.0.tgz", pack(t, "note", "1.1.0", map[string]string{
			"templates/new.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {found: \"{{ if lookup \"v1\" \"" + kind + "\" .Release.Namespace \"" + name + "\" }}" + name + "{{ else }}nothing{{ end }}\"}\n",
		}))
	}
	k := w.kubeconfig()
	w.unwritten(func() {
		w.expectPlugin(k, 1, "diff app --chart "+reads("ConfigMap", "app")+" -f "+w.proposal(hr, func(*helmv2.HelmRelease) {}), "+  found: app")
		w.expectPlugin(k, 2, "diff app --chart "+reads("ServiceAccount", "tenant")+" -f "+w.proposal(hr, func(*helmv2.HelmRelease) {}), "forbidden", "system:serviceaccount:"+w.namespace+":tenant")
		w.expectPlugin(k, 1, "diff app --as-me --chart "+reads("ServiceAccount", "tenant")+" -f "+w.proposal(hr, func(*helmv2.HelmRelease) {}), "+  found: tenant")
	})
	// A user who may do everything but impersonate.
	user := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "user"}
	w.account("user", "configmaps", "secrets", "serviceaccounts/token")
	w.grant("reads", user, rule("helm.toolkit.fluxcd.io", []string{"helmreleases"}, []string{"*"}), rule("source.toolkit.fluxcd.io", []string{"ocirepositories"}, []string{"get"}))
	k = w.kubeconfigOf(w.namespace, "user")
	w.unwritten(func() {
		w.expectPlugin(k, 1, "diff app --chart "+reads("ConfigMap", "app")+" -f "+w.proposal(hr, func(*helmv2.HelmRelease) {}),
			"+  found: nothing", "the chart looks up objects, and found none: you may not impersonate ServiceAccount "+w.namespace+"/tenant")
	})
}
