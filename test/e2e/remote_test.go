// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// remoteReleases is the number of releases in the remote cluster: far more than workers.
const remoteReleases = 8

// abroad is a test's namespace in two clusters.
type abroad struct {
	world

	remote *harness.Remote
	// host is the address of the other one's API server.
	host string
}

// TestRemoteCluster: releases in a second control plane survive its outage, while others in the
// first one are not affected. With two workers, two releases that block one each would be noticed.
func TestRemoteCluster(t *testing.T) {
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
	ours := env.Controller
	takeOver(t.Context(), t, env.Variant("--concurrent=2", "--feature-gates=ObjectLevelWorkloadIdentity=true"))
	t.Cleanup(func() {
		//nolint:usetesting // that one has ended
		takeOver(context.Background(), t, ours)
	})
	for _, c := range []struct {
		name string
		test func(abroad)
	}{
		{"life", abroad.lives},
		{"tokens", abroad.isTrusted},
		{"dead", abroad.dies},
		{"silent", abroad.fallsSilent},
	} {
		if !t.Run(c.name, func(t *testing.T) { c.test(newAbroad(t, remote)) }) {
			return
		}
	}
}

// takeOver ends the controller and starts another.
func takeOver(ctx context.Context, t *testing.T, to *harness.Controller) {
	t.Helper()
	if err := env.Controller.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	env.Controller = to
	if err := to.Start(); err != nil {
		t.Fatal(err)
	}
}

func newAbroad(t *testing.T, remote *harness.Remote) abroad {
	t.Helper()
	a := abroad{world: newWorld(t), remote: remote}
	config, err := clientcmd.BuildConfigFromFlags("", remote.Kubeconfig)
	a.Must(err)
	a.host = config.Host
	a.Must(remote.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}))
	a.Create(&corev1.Secret{ObjectMeta: a.Meta("far"), Data: map[string][]byte{"value": a.kubeconfig("")}})
	a.push("0.1.0")
	a.source("hello", env.Registry.Address)
	return a
}

// kubeconfig returns a kubeconfig of the remote cluster whose text depends on mark.
func (a abroad) kubeconfig(mark string) []byte {
	a.Helper()
	raw, err := os.ReadFile(a.remote.Kubeconfig)
	a.Must(err)
	return append(raw, []byte("# "+mark+"\n")...)
}

// far creates a HelmRelease in the other cluster.
func (a abroad) far(name string, v values, changes ...func(*helmv2.HelmReleaseSpec)) *helmv2.HelmRelease {
	a.Helper()
	hr := a.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, "hello"), v)
	hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "far"}}
	for _, change := range changes {
		change(&hr.Spec)
	}
	a.Create(hr)
	return hr
}

// there waits until the message of a release in the other cluster is as wanted; an
// empty one is of none that is there.
func (a abroad) there(release, want string) {
	a.Helper()
	ctx := a.Context()
	name := client.ObjectKey{Namespace: a.Namespace, Name: release + "-hello"}
	if release == "hello" {
		name.Name = release
	}
	a.Must(env.Until(ctx, fmt.Sprintf("the message of %s to be %q", release, want), func() (string, bool) {
		cm := &corev1.ConfigMap{}
		err := a.remote.Client.Get(ctx, name, cm)
		if apierrors.IsNotFound(err) {
			return "it is not there", want == ""
		}
		return fmt.Sprintf("%q, error %v", cm.Data["message"], err), err == nil && cm.Data["message"] == want && want != ""
	}))
	if err := env.Client.Get(ctx, name, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		a.Errorf("%s is in the wrong cluster, too: %v", release, err)
	}
}

// departed waits until a release and all of its records are gone.
func (a abroad) departed(hr *helmv2.HelmRelease) {
	a.Helper()
	a.UntilGone(hr)
	a.there(hr.Name, "")
	var stored corev1.SecretList
	a.Must(a.remote.Client.List(a.Context(), &stored, client.InNamespace(a.Namespace), client.MatchingLabels{"owner": "helm", "name": hr.Name}))
	if len(stored.Items) != 0 {
		a.Errorf("%d revisions of %s are left", len(stored.Items), hr.Name)
	}
}

// lives installs, upgrades, repairs and uninstalls, also with another kubeconfig.
func (a abroad) lives() {
	hr := a.far("hello", nil, func(s *helmv2.HelmReleaseSpec) {
		s.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	})
	a.UntilRevision(hr, 1)
	a.there("hello", "hello")

	a.change(hr, values{"message": "two"})
	a.UntilRevision(hr, 2)
	a.there("hello", "two")

	// No reconciliation is requested, and the interval is long.
	cm := &corev1.ConfigMap{}
	a.Must(a.remote.Client.Get(a.Context(), client.ObjectKey{Namespace: a.Namespace, Name: "hello"}, cm))
	cm.Data["message"] = "another client"
	a.Must(a.remote.Client.Update(a.Context(), cm))
	a.there("hello", "two")

	secret := &corev1.Secret{}
	a.Get("far", secret)
	secret.Data["value"] = a.kubeconfig("rotated")
	a.Must(env.Client.Update(a.Context(), secret))
	a.change(hr, values{"message": "three"})
	a.UntilRevision(hr, 3)
	a.there("hello", "three")

	a.Must(env.Client.Delete(a.Context(), hr))
	a.departed(hr)
}

// isTrusted installs with tokens of a ServiceAccount. Only the first cluster trusts them, so it is
// used by its address.
func (a abroad) isTrusted() {
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	a.Must(err)
	describe := func(name, account string) func(*helmv2.HelmReleaseSpec) {
		a.Create(&corev1.ConfigMap{ObjectMeta: a.Meta(name), Data: map[string]string{
			"provider": "generic", "address": config.Host, "ca.crt": string(config.CAData), "serviceAccountName": account,
			"audiences": "https://kubernetes.default.svc.cluster.local",
		}})
		return func(s *helmv2.HelmReleaseSpec) {
			s.KubeConfig = &helmv2.KubeConfigReference{ConfigMapRef: &helmv2.LocalObjectReference{Name: name}}
		}
	}
	a.tenant()
	// The tenant may make no Jobs.
	hr := a.far("hello", values{"hook": values{"enabled": false}}, describe("as-tenant", account))
	a.UntilRevision(hr, 1)
	a.message("hello", "hello")
	a.change(hr, values{"message": "two", "hook": values{"enabled": false}})
	a.UntilRevision(hr, 2)
	counted, err := env.Controller.Metrics(a.Context())
	a.Must(err)
	for _, name := range []string{"gotk_token_cached_items", "gotk_token_cache_requests_total", "gotk_token_cache_events_total"} {
		if counted.Sum(name) < 1 {
			a.Errorf("%s is %v after tokens were used", name, counted.Sum(name))
		}
	}
	a.Must(env.Client.Delete(a.Context(), hr))
	a.gone(hr)

	a.Create(&corev1.ServiceAccount{ObjectMeta: a.Meta("unprivileged")})
	denied := a.far("denied", nil, describe("as-unprivileged", "unprivileged"))
	a.UntilCondition(denied, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "acts as the identity in ConfigMap", "may not read Secrets")
	missing := a.far("missing", nil, describe("as-missing", "missing"))
	a.UntilCondition(missing, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "no token for the cluster", "missing")
	for _, hr := range []*helmv2.HelmRelease{denied, missing} {
		a.Must(env.Client.Delete(a.Context(), hr))
	}
}

// away is a part of what conditions say of a cluster without answers: that it has not been reachable
// since a time, or, if reads were slow before, that it has answered too slowly.
const away = " since 20"

// outage makes all releases in the remote cluster wait for it, one of them for its deletion. Other
// releases must not be affected.
func (a abroad) outage(all []*helmv2.HelmRelease, message string) {
	a.Helper()
	for _, hr := range all {
		a.change(hr, values{"message": message})
	}
	for _, hr := range all {
		a.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, a.host, away, "Retrying with back-off.")
	}
	a.Must(env.Client.Delete(a.Context(), all[0]))
	a.UntilCondition(all[0], helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, a.host, away)
	for n := range 3 {
		a.UntilRevision(a.release(fmt.Sprint("near-", message, "-", n), "hello", nil), 1)
	}
}

// back expects that all go on by themselves.
func (a abroad) back(all []*helmv2.HelmRelease, message string) {
	a.Helper()
	for _, hr := range all[1:] {
		a.Until(hr, "to be ready", harness.Ready)
		a.there(hr.Name, message)
	}
	a.departed(all[0])
}

// dies kills the remote cluster while an upgrade waits for Pods there.
func (a abroad) dies() {
	var all []*helmv2.HelmRelease
	for n := range remoteReleases {
		all = append(all, a.far(fmt.Sprint("r", n), values{"message": "one"}))
	}
	retried := func(s *helmv2.HelmReleaseSpec) {
		s.Upgrade = &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{Name: helmv2.ActionStrategyRetryOnFailure, RetryInterval: duration(time.Second)}}
	}
	busy := a.far("busy", values{"message": "one"}, retried)
	for _, hr := range append(all, busy) {
		a.UntilRevision(hr, 1)
	}
	a.change(busy, values{"message": "two", "podAnnotations": values{"simulate.pintle.dev/ready": "never"}}, func(s *helmv2.HelmReleaseSpec) {
		// A wait outlasts the cluster.
		s.Timeout = duration(20 * time.Second)
	})
	a.there("busy", "two")

	a.Must(a.remote.Kill())
	a.outage(all, "two")
	a.UntilCondition(busy, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, a.host, away)
	a.change(busy, values{"message": "three"})

	begun := time.Now()
	a.Must(a.remote.Restart(a.Context()))
	a.Logf("the control plane was back after %.1fs", time.Since(begun).Seconds())
	a.back(all, "two")
	a.Logf("all but one after %.1fs", time.Since(begun).Seconds())
	a.Until(busy, "to be ready", harness.Ready)
	a.there("busy", "three")
}

// fallsSilent stops the remote cluster from answering, which takes longer to detect, and restarts
// the controller meanwhile.
func (a abroad) fallsSilent() {
	var all []*helmv2.HelmRelease
	for n := range remoteReleases {
		all = append(all, a.far(fmt.Sprint("r", n), values{"message": "one"}))
	}
	for _, hr := range all {
		a.UntilRevision(hr, 1)
	}
	a.Must(a.remote.Freeze())
	defer func() { a.Must(a.remote.Thaw()) }()
	a.outage(all, "two")
	a.Must(env.Controller.Kill(a.Context()))
	a.Must(env.Controller.Start())
	for n := range 3 {
		a.UntilRevision(a.release(fmt.Sprint("again-", n), "hello", nil), 1)
	}
	for _, hr := range all[1:] {
		a.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, a.host, away)
	}
	if log := env.Controller.LogTail(1 << 20); strings.Contains(log, "PRIVATE KEY") {
		a.Error("the log quotes the kubeconfig")
	}

	a.Must(a.remote.Thaw())
	a.back(all, "two")
}
