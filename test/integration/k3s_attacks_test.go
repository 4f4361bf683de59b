// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
)

// TestK3sAttackers: users who may write HelmCharts in one namespace get the rights of its accounts helm-*,
// and no others.
func TestK3sAttackers(t *testing.T) {
	t.Parallel()
	w, victim := newWorld(t), newWorld(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: victim.namespace, Name: "secret"}, StringData: map[string]string{"v": "message: stolen"}}
	w.must(suite.client.Create(t.Context(), secret))
	victim.account("helm-rich", "configmaps", "secrets")
	elsewhere := "targetNamespace: " + victim.namespace + "\n"
	path := "../../" + victim.namespace + "/secrets/secret"
	for name, tc := range map[string]struct{ spec, says string }{
		"controller":    {repoSpec, "ServiceAccount '" + w.namespace + "/helm-controller' does not exist"},
		"rich":          {repoSpec + elsewhere, "needs ServiceAccount '" + w.namespace + "/helm-rich'"},
		"secret":        {repoSpec + "valuesSecrets: [{name: " + path + ", keys: [v]}]", "spec.valuesSecrets[0]"},
		"ignored":       {repoSpec + "valuesSecrets: [{name: " + path + ", keys: [v], ignoreUpdates: true}]", "spec.valuesSecrets[0]"},
		"auth":          {repoSpec + "authSecret: {name: " + path + "}", "spec.authSecret"},
		"docker":        {"chart: oci://registry.example/note\ndockerRegistrySecret: {name: " + path + "}", "spec.dockerRegistrySecret"},
		"authorities":   {repoSpec + "repoCAConfigMap: {name: " + path + "}", "spec.repoCAConfigMap"},
		"loopback":      {"chart: http://127.0.0.2:1/note.tgz", "127.0.0.2"},
		"loopback-six":  {"chart: 'http://[::1]:1/note.tgz'", "::1"},
		"mapped":        {"chart: 'http://[::ffff:127.0.0.2]:1/note.tgz'", "127.0.0.2"},
		"cloud":         {"chart: http://169.254.169.254/note.tgz", "169.254.169.254"},
		"cluster":       {"chart: http://10.96.0.1/note.tgz", "10.96.0.1"},
		"other-content": {"chart: http://helmcharts.pintle.invalid/content/" + victim.namespace + "/web", "helmcharts.pintle.invalid"},
	} {
		if name != "controller" && name != "rich" {
			w.account("helm-"+name, "configmaps", "secrets")
		}
		c := w.k3sChart(name, tc.spec)
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, tc.says)
		for _, made := range []client.Object{&helmv2.HelmRelease{}, &corev1.Secret{}} {
			key := client.ObjectKeyFromObject(c)
			if _, is := made.(*corev1.Secret); is {
				key.Name = helmchart.SecretName(c)
			}
			if err := suite.client.Get(t.Context(), key, made); !apierrors.IsNotFound(err) {
				t.Errorf("%s: %T was made: %v", name, made, err)
			}
		}
	}

	// An account without rights there installs nothing in the other namespace.
	w.account("helm-poor", "configmaps", "secrets")
	poor := w.k3sChart("poor", repoSpec+elsewhere)
	w.fillFor(w.madeFor(poor), "1.0.0")
	w.untilChart(poor, cattlev1.ConditionReady, metav1.ConditionFalse, "may not read Secrets in "+victim.namespace)
	if records := victim.stored("poor"); len(records) > 0 {
		t.Errorf("%d records were made in the other namespace", len(records))
	}

	// Objects that others made are neither changed nor deleted, whatever the HelmChart becomes.
	w.account("helm-taken", "configmaps", "secrets")
	foreign := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "taken"}, Spec: sourcev1.HelmRepositorySpec{URL: "https://others.example"}}
	values := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "helmchart-other"}, StringData: map[string]string{"a": "b"}}
	versions := map[client.Object]string{}
	for _, o := range []client.Object{foreign, values} {
		w.must(suite.client.Create(t.Context(), o))
		versions[o] = w.present(o)
	}
	other := w.k3sChart("other", repoSpec+"values: {a: 1}")
	w.must(suite.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "helm-other"}}))
	w.untilChart(other, cattlev1.ConditionFailed, metav1.ConditionTrue, "Secret '"+w.namespace+"/helmchart-other' exists")
	taken := w.k3sChart("taken", repoSpec)
	w.untilChart(taken, cattlev1.ConditionFailed, metav1.ConditionTrue, "HelmRepository '"+w.namespace+"/taken' exists")
	w.editChart(taken, func(c *cattlev1.HelmChart) { c.Spec.Chart, c.Spec.Repo = "oci://registry.example/note", "" })
	hr := w.madeFor(taken)
	for _, c := range []*cattlev1.HelmChart{taken, other} {
		w.editChart(c, func(c *cattlev1.HelmChart) { c.Annotations[cattlev1.AnnotationManagedBy] = "helm-controller" })
	}
	w.untilGone(hr)
	w.quiet(other)
	for o, before := range versions {
		if now := w.present(o); now != before {
			t.Errorf("%T %s was changed or deleted: version %q", o, o.GetName(), now)
		}
	}
}
