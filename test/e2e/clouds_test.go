// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// provider is the configuration to connect to a cluster of one cloud.
type provider struct {
	resource string
	// wrong is the well-formed name of a cluster that does not exist, and missing the cloud's error
	// about it.
	wrong   string
	missing string
	// trouble are the expected texts if the cloud refuses requests.
	trouble []string
	// annotations set the cloud identity of a ServiceAccount.
	annotations map[string]string
}

func providers() map[string]provider {
	return map[string]provider{
		"aws": {
			resource: harness.EKSCluster, wrong: harness.EKSCluster + "-off", missing: "EKS DescribeCluster answered 404 ResourceNotFoundException: No cluster found for name: far-off",
			trouble: []string{"STS AssumeRoleWithWebIdentity answered", "AccessDenied"}, annotations: map[string]string{"eks.amazonaws.com/role-arn": harness.EKSRole},
		},
		"azure": {
			resource: harness.AKSCluster, wrong: harness.AKSCluster + "-off", missing: "management.azure.com answered 404 ResourceNotFound: The Resource was not found",
			trouble: []string{"login.microsoftonline.com answered", "unauthorized_client: AADSTS700016"}, annotations: map[string]string{
				"azure.workload.identity/tenant-id": harness.AzureTenant, "azure.workload.identity/client-id": harness.AzureClient,
			},
		},
		"gcp": {
			resource: harness.GKECluster, wrong: harness.GKECluster + "-off", missing: "Google answered 404",
			trouble: []string{"status code", "invalid_grant"}, annotations: map[string]string{
				"gcp.auth.fluxcd.io/workload-identity-provider": harness.GCPProvider, "iam.gke.io/gcp-service-account": harness.GCPAccount,
			},
		},
	}
}

// skies is a test's namespace in a cluster that clouds lead to.
type skies struct {
	abroad

	clouds *harness.Clouds
}

// TestClouds: releases are installed into a second control plane by the APIs of AWS, Azure and
// Google.
func TestClouds(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	remote, err := harness.StartRemote(t.Context(), os.Getenv("PINTLE_CLUSTER_BIN"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		//nolint:usetesting // that one has ended
		if err := remote.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	clouds, err := harness.StartClouds(t.Context(), t.TempDir(), led(t, remote))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clouds.Close() })
	ours := env.Controller
	t.Cleanup(func() {
		//nolint:usetesting // that one has ended
		takeOver(context.Background(), t, ours)
	})
	takeOver(t.Context(), t, env.Variant("--concurrent=2", "--feature-gates=ObjectLevelWorkloadIdentity=true").In(clouds.Env()...))
	for name, p := range providers() {
		t.Run(name, func(t *testing.T) { (&skies{newAbroad(t, remote), clouds}).lives(name, p) })
	}
	t.Run("wrong", func(t *testing.T) { (&skies{newAbroad(t, remote), clouds}).saysWhatIsWrong() })
	t.Run("trouble", func(t *testing.T) { (&skies{newAbroad(t, remote), clouds}).survivesTrouble() })
	// The new controller gets the environment of the previous one.
	takeOver(t.Context(), t, env.Variant("--feature-gates=ObjectLevelWorkloadIdentity=false").In(itself(t)...))
	t.Run("itself", func(t *testing.T) { (&skies{newAbroad(t, remote), clouds}).goesItself() })
}

// led returns the remote cluster with a token that has all permissions.
func led(t *testing.T, remote *harness.Remote) harness.CloudTarget {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", remote.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "from-a-cloud"}}
	request := &authenticationv1.TokenRequest{}
	for _, step := range []func() error{
		func() error { return remote.Client.Create(t.Context(), account) },
		func() error {
			return remote.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "from-a-cloud"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
			})
		},
		func() error { return remote.Client.SubResource("token").Create(t.Context(), account, request) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return harness.CloudTarget{Address: config.Host, CA: config.CAData, Token: request.Status.Token}
}

// itself is the environment with the controller's own AWS credentials.
func itself(t *testing.T) []string {
	t.Helper()
	return []string{"AWS_REGION=" + harness.EKSRegion, "AWS_ACCESS_KEY_ID=" + harness.AWSKeyID, "AWS_SECRET_ACCESS_KEY=" + harness.AWSSecret}
}

// describe writes a ConfigMap.
func (s *skies) describe(name string, data map[string]string) func(*helmv2.HelmReleaseSpec) {
	s.Helper()
	s.Create(&corev1.ConfigMap{ObjectMeta: s.Meta(name), Data: data})
	return func(spec *helmv2.HelmReleaseSpec) {
		spec.KubeConfig = &helmv2.KubeConfigReference{ConfigMapRef: &helmv2.LocalObjectReference{Name: name}}
	}
}

func (s *skies) known(name string, annotations map[string]string) {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: s.Meta(name)}
	account.Annotations = annotations
	s.Create(account)
}

// lives installs, upgrades and uninstalls with one token, and connects to a fixed address without a
// request for it.
func (s *skies) lives(name string, p provider) {
	s.known("tenant", p.annotations)
	hr := s.far("hello", nil, s.describe("there", map[string]string{"provider": name, "cluster": p.resource, "serviceAccountName": "tenant"}))
	s.UntilRevision(hr, 1)
	s.there("hello", "hello")
	s.change(hr, values{"message": "two"})
	s.UntilRevision(hr, 2)
	s.there("hello", "two")
	s.Must(env.Client.Delete(s.Context(), hr))
	s.departed(hr)

	login := map[string]string{"aws": "sts.eu-west-1.amazonaws.com", "azure": "management.azure.com", "gcp": "iamcredentials.googleapis.com"}[name]
	if n, most := s.clouds.Asked(login), map[string]int{"aws": 1, "azure": 2, "gcp": 1}[name]; n == 0 || n > most {
		s.Errorf("%s received %d requests, want %d", login, n, most)
	}
	s.silent(hr)
}

// silent expects no secrets in public places.
func (s *skies) silent(hr *helmv2.HelmRelease) {
	s.Helper()
	var events corev1.EventList
	s.Must(env.Client.List(s.Context(), &events, client.InNamespace(s.Namespace)))
	said := env.Controller.LogTail(1<<20) + harness.Summary(hr)
	for _, e := range events.Items {
		said += e.Message
	}
	for _, secret := range s.clouds.Secrets() {
		if secret != "" && strings.Contains(said, secret) {
			s.Errorf("a secret that begins with %.12s was published", secret)
		}
	}
}

// saysWhatIsWrong names ConfigMap, key, provider and cause.
func (s *skies) saysWhatIsWrong() {
	ps := providers()
	for _, name := range slices.Sorted(maps.Keys(ps)) {
		p := ps[name]
		s.known(name, p.annotations)
		hr := s.far(name+"-wrong", nil, s.describe(name+"-wrong", map[string]string{"provider": name, "cluster": p.wrong, "serviceAccountName": name}))
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError,
			"ConfigMap '"+s.Namespace+"/"+name+"-wrong', key 'cluster', provider "+name+": the cloud has not given access to "+p.wrong+" since ", p.missing)
		// Mending it is enough.
		described := &corev1.ConfigMap{}
		s.Get(name+"-wrong", described)
		described.Data["cluster"] = p.resource
		s.Must(env.Client.Update(s.Context(), described))
		s.UntilRevision(hr, 1)
		s.Must(env.Client.Delete(s.Context(), hr))
		s.departed(hr)

		hr = s.far(name+"-nothing", nil, s.describe(name+"-nothing", map[string]string{"provider": name, "serviceAccountName": name}))
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "ConfigMap '"+s.Namespace+"/"+name+"-nothing': cluster is missing: its form for "+name)
		hr = s.far(name+"-unprivileged", nil, s.describe(name+"-unprivileged", map[string]string{"provider": name, "cluster": p.resource, "serviceAccountName": "unprivileged"}))
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "ConfigMap '"+s.Namespace+"/"+name+"-unprivileged'", `serviceaccounts "unprivileged" not found`)
	}
	s.known("plain", nil)
	hr := s.far("plain", nil, s.describe("plain", map[string]string{"provider": "aws", "cluster": harness.EKSCluster, "serviceAccountName": "plain"}))
	s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "provider aws", "ServiceAccount '"+s.Namespace+"/plain'", "eks.amazonaws.com/role-arn")
	hr = s.far("pending", nil, s.describe("pending", map[string]string{"provider": "aws", "cluster": harness.EKSPending, "serviceAccountName": "aws"}))
	s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "provider aws", "the answer of the cloud is incomplete")
}

// survivesTrouble makes all clouds refuse, fail, and not answer. Other releases must not be
// affected, although more releases wait for the clouds than there are workers.
func (s *skies) survivesTrouble() {
	s.clouds.Trouble(http.StatusForbidden)
	defer s.clouds.Trouble(0)
	ps := providers()
	all := map[string]*helmv2.HelmRelease{}
	for name, p := range ps {
		s.known(name, p.annotations)
		all[name] = s.far(name, nil, s.describe(name, map[string]string{"provider": name, "cluster": p.resource, "serviceAccountName": name}))
	}
	for name, hr := range all {
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError,
			append([]string{"key 'cluster', provider " + name, "403"}, ps[name].trouble...)...)
	}
	s.clouds.Trouble(http.StatusInternalServerError)
	for name, hr := range all {
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "key 'cluster', provider "+name, "500")
	}
	s.clouds.Trouble(harness.Silence)
	for name, hr := range all {
		s.change(hr, values{"message": "later"})
		s.Create(&corev1.ConfigMap{ObjectMeta: s.Meta(name + "-new"), Data: map[string]string{"provider": name, "cluster": ps[name].wrong, "serviceAccountName": name}})
		for _, more := range []string{"-a", "-b"} {
			s.far(name+more, nil, func(spec *helmv2.HelmReleaseSpec) {
				spec.KubeConfig = &helmv2.KubeConfigReference{ConfigMapRef: &helmv2.LocalObjectReference{Name: name + "-new"}}
			})
		}
	}
	s.UntilRevision(s.release("near", "hello", nil), 1)
	begun := time.Now()
	for name, hr := range all {
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "key 'cluster', provider "+name, "no answer in time")
		s.silent(hr)
	}
	s.Logf("the silence was reported after %.1fs", time.Since(begun).Seconds())
	s.clouds.Trouble(0)
	for name, hr := range all {
		s.UntilRevision(hr, 1)
		s.there(name, "later")
	}
}

// goesItself runs without the feature gate: no ServiceAccount tokens are created, and the
// controller's own identity connects only to addresses that the cloud returns.
func (s *skies) goesItself() {
	hr := s.far("hello", nil, s.describe("there", map[string]string{"provider": "aws", "cluster": harness.EKSCluster}))
	s.UntilRevision(hr, 1)
	s.there("hello", "hello")
	hr = s.far("led-astray", nil, s.describe("astray", map[string]string{"provider": "aws", "cluster": harness.EKSCluster, "address": s.host, "ca.crt": "any"}))
	s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "provider aws", "key 'address' differs from the address in the cloud")
	s.known("tenant", map[string]string{"eks.amazonaws.com/role-arn": harness.EKSRole})
	for name, provider := range map[string]string{"gated": "aws", "generic": "generic"} {
		hr = s.far(name, nil, s.describe(name, map[string]string{"provider": provider, "cluster": harness.EKSCluster, "address": s.host, "serviceAccountName": "tenant"}))
		s.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "ConfigMap '"+s.Namespace+"/"+name+"'", "ObjectLevelWorkloadIdentity")
	}
	s.silent(hr)
}
