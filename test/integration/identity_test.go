// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// account creates a ServiceAccount with all permissions on the given core resources in the test's
// namespace, and no others.
func (w *world) account(name string, resources ...string) *corev1.ServiceAccount {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	w.must(suite.client.Create(w.t.Context(), account))
	w.must(suite.client.Create(w.t.Context(), &rbacv1.Role{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: []string{"*"}}},
	}))
	w.must(suite.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: name}},
	}))
	return account
}

// untilDenied waits until the API server denies a ServiceAccount to list a resource in a namespace.
func (w *world) untilDenied(name, resource, namespace string) {
	w.t.Helper()
	w.untilReviewed(namespace, "system:serviceaccount:"+w.namespace+":"+name, rule("", []string{resource}, []string{"list"}), false)
}

// untilReviewed waits until the API server grants or denies a user the first permission of a rule in
// a namespace.
func (w *world) untilReviewed(namespace, user string, right rbacv1.PolicyRule, allowed bool) {
	w.t.Helper()
	untilTrue(w, fmt.Sprintf("%s of %s to be allowed: %v", right.Verbs[0]+" "+right.Resources[0], user, allowed), func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: right.Verbs[0], Group: right.APIGroups[0], Resource: right.Resources[0],
			},
		}}
		w.must(suite.client.Create(w.t.Context(), review))
		return review.Status.Allowed == allowed
	})
}

func as(name string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = name }
}

func in(secret string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: secret}}
	}
}

// kubeconfig returns a self-contained kubeconfig for the API server of the tests, with the identity
// of the test process.
func kubeconfig(t *testing.T, config *rest.Config) []byte {
	t.Helper()
	content := clientcmdapi.Config{
		CurrentContext: "it",
		Contexts:       map[string]*clientcmdapi.Context{"it": {Cluster: "it", AuthInfo: "it"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"it": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"it": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
	}
	raw, err := clientcmd.Write(content)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (w *world) secret(name string, data map[string][]byte, labels map[string]string) *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}, Data: data}
	w.must(suite.client.Create(w.t.Context(), secret))
	return secret
}

// TestServiceAccount: install, upgrade, test and uninstall need no more than the documented
// permissions.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("tenant", "configmaps", "secrets")
	w.publish("mine", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("mine", nil, as("tenant"))
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "again"}) })
	w.untilReady(hr)
	if got := w.configMap("mine").Data["message"]; got != "again" {
		t.Errorf("the message is %q", got)
	}
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if n := len(w.stored("mine")); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
}

// TestServiceAccountLacksRights: an action that the ServiceAccount is not permitted is not run with
// another identity.
func TestServiceAccountLacksRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("keeper", "secrets")
	w.account("unprivileged", "pods")
	w.publish("denied", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("denied", nil, as("keeper"))
	user := "system:serviceaccount:" + w.namespace + ":"
	words := []string{"configmaps", "forbidden", `User "` + user + `keeper"`}
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, words...)
	w.untilSays(hr, helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonInstallFailed, words...)
	err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "denied"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap was created: %v", err)
	}

	// Helm's records are not written with another identity either.
	w.publish("unstored", "1.0.0", configMapChart(t, "1.0.0"))
	other := w.release("unstored", nil, as("unprivileged"))
	w.untilSays(other, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "acts as "+w.namespace+"/unprivileged (spec.serviceAccountName)", "may not read Secrets in "+w.namespace)
	if n := len(w.stored("unstored")); n != 0 {
		t.Errorf("%d revisions were stored", n)
	}
	w.must(suite.client.Delete(t.Context(), other))
	w.untilGone(other)
}

// TestDeleteWithoutRights: while the ServiceAccount exists, missing permissions delay the deletion,
// and the release is not orphaned.
func TestDeleteWithoutRights(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.account("stripped", "configmaps", "secrets")
	w.publish("waits", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("waits", nil, as("stripped"))
	w.untilReady(hr)
	role := &rbacv1.Role{}
	w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "stripped"}, role))
	rules := role.Rules
	role.Rules = nil
	w.must(suite.client.Update(t.Context(), role))
	w.untilDenied("stripped", "secrets", w.namespace)
	w.must(suite.client.Delete(t.Context(), hr))
	w.until(hr, "the obstacle", func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, helmv2.ConditionReady)
		return c.Status == metav1.ConditionFalse && (strings.Contains(c.Message, "may not read Secrets") || strings.Contains(c.Message, "forbidden"))
	})
	role.Rules = rules
	w.must(suite.client.Update(t.Context(), role))
	w.untilGone(hr)
	if n := len(w.stored("waits")); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
}

// TestKubeconfig: a release is installed through a kubeconfig with another identity.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("tenant", "configmaps", "secrets")
	w.secret("elsewhere", map[string][]byte{"value.yaml": kubeconfig(t, suite.config)}, nil)
	w.publish("far", "1.0.0", configMapChart(t, "1.0.0"))
	w.publish("farther", "1.0.0", configMapChart(t, "1.0.0"))
	w.account("keeper", "secrets")
	hr, denied := w.release("far", nil, in("elsewhere"), as("tenant")), w.release("farther", nil, in("elsewhere"), as("keeper"))
	w.untilReady(hr)
	if got := w.configMap("far").Data["message"]; got != "default" {
		t.Errorf("the message is %q", got)
	}
	w.untilSays(denied, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, "forbidden", "keeper")
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if n := len(w.stored("far")); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
}

// TestKubeconfigLeadsAway: the connection is that of the kubeconfig, not that of the controller.
func TestKubeconfigLeadsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nowhere := rest.CopyConfig(suite.config)
	nowhere.Host = "https://127.0.0.1:1"
	secret := w.secret("nowhere", map[string][]byte{"value": kubeconfig(t, nowhere)}, nil)
	w.publish("away", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("away", nil, in("nowhere"))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "127.0.0.1:1", "refused")
	// The kubeconfig is read in every reconciliation, whether it is watched or not.
	secret.Data["value"] = kubeconfig(t, suite.config)
	w.must(suite.client.Update(t.Context(), secret))
	w.untilReady(hr)
}

// TestMissingKubeconfig: a Secret that is watched triggers a reconciliation of those that
// refer to it, also of one that is being deleted.
func TestMissingKubeconfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("early", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("early", nil, in("late"))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "'value' or 'value.yaml'", w.namespace+"/late", "not found")
	secret := w.secret("late", map[string][]byte{"value": kubeconfig(t, suite.config)}, map[string]string{watchLabel: "Enabled"})
	w.untilReady(hr)

	secret.Data["value"] = []byte(strings.Replace(string(secret.Data["value"]), "certificate-authority-data:", "certificate-authority:", 1))
	w.must(suite.client.Update(t.Context(), secret))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "clusters[].cluster.certificate-authority is not allowed")

	w.must(suite.client.Delete(t.Context(), secret))
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, w.namespace+"/late", "not found")
	w.secret("late", map[string][]byte{"value": kubeconfig(t, suite.config)}, map[string]string{watchLabel: "Enabled"})
	w.untilGone(hr)
	if n := len(w.stored("early")); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
}
