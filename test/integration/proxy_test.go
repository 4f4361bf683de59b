// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

// proxied is a fault proxy before the API server, and the configuration of a client that connects
// through it.
type proxied struct {
	*faultproxy.Proxy

	config *rest.Config
}

// proxied starts a fault proxy. Its client has all permissions.
func (w *world) proxied(decide func(faultproxy.Request) faultproxy.Fault) *proxied {
	w.t.Helper()
	proxy, err := faultproxy.Start(faultproxy.Options{Server: suite.config.Host, CA: suite.config.CAData, Decide: decide})
	w.must(err)
	w.t.Cleanup(func() { _ = proxy.Close() })
	return &proxied{Proxy: proxy, config: &rest.Config{
		Host: proxy.URL, BearerToken: w.administrator().Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: proxy.CA},
		QPS: suite.config.QPS, Burst: suite.config.Burst,
	}}
}

// administrator returns a token of a ServiceAccount "administrator", which has all permissions.
func (w *world) administrator() *authenticationv1.TokenRequest {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "administrator"}}
	w.must(suite.client.Create(w.t.Context(), account))
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-administrator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account.Name}},
	}
	w.must(suite.client.Create(w.t.Context(), binding))
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), binding) })
	request := &authenticationv1.TokenRequest{}
	w.must(suite.client.SubResource("token").Create(w.t.Context(), account, request))
	config := &rest.Config{Host: suite.config.Host, BearerToken: request.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: suite.config.CAData}}
	administrator, err := client.New(config, client.Options{})
	w.must(err)
	untilTrue(w, "the permissions of the administrator", func() bool {
		return administrator.List(w.t.Context(), &corev1.SecretList{}, client.InNamespace(w.namespace), client.Limit(1)) == nil
	})
	return request
}

// stop drops all connections and refuses new ones until the returned function is called.
func (p *proxied) stop(t *testing.T) (resume func()) {
	t.Helper()
	// Outage returns after the context has ended. The connections are to be dropped before that.
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The error is that of the context.
		_ = p.Outage(ctx, time.Hour)
	}()
	return func() { cancel(); <-done }
}

// TestInterruptedElsewhere: an action in another cluster is interrupted if that does not answer.
// The outage has the address of the cluster and its start. It may last 30 s, because the timeout of
// the action is shorter.
func TestInterruptedElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := newBench(t)
	p := b.proxied(nil)
	var err error
	b.conn, err = cluster.NewConnections(suite.config, cluster.Options{Now: time.Now}).For(cluster.Identity{Kubeconfig: kubeconfig(t, p.config)})
	b.must(err)
	archive := configMapChart(t, "1.0.0")
	b.mustRun(install, archive, nil, helmv2.HelmReleaseSpec{})
	defer p.stop(t)()
	began := time.Now()
	out := b.run(release.Upgrade{Timeout: expiry}, archive, values("message", "two"), helmv2.HelmReleaseSpec{})
	ended := time.Now()
	if out.Err == nil || out.Interrupted == nil {
		t.Fatalf("the upgrade ends with %v, interrupted %+v", out.Err, out.Interrupted)
	}
	if server := "the API server at " + p.URL; out.Interrupted.Server != server {
		t.Errorf("the server is %q, want %q", out.Interrupted.Server, server)
	}
	if since := out.Interrupted.Since; since.Before(began) || ended.Sub(since) < 30*time.Second {
		t.Errorf("the upgrade is from %s to %s, and the outage began at %s", began, ended, since)
	}
	if !strings.HasSuffix(out.Interrupted.Cause, "connection refused") {
		t.Errorf("the cause is %q", out.Interrupted.Cause)
	}
}

// TestReadyNamesTheCluster: while another cluster does not answer, Ready has its address and the
// start of the outage. The message is equal at every retry. The release goes on by itself.
func TestReadyNamesTheCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	p := w.proxied(nil)
	w.secret("far", map[string][]byte{"value": kubeconfig(t, p.config)}, nil)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "one"}, in("far"))
	w.untilReady(hr)
	began := time.Now().Truncate(time.Second)
	resume := sync.OnceFunc(p.stop(t))
	defer resume()
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	marker := p.URL + " has not been reachable since "
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, marker, "connection refused")
	first := condition(hr, helmv2.ConditionReady)
	_, text, _ := strings.Cut(first.Message, marker)
	text, _, _ = strings.Cut(text, ": ")
	if since, err := time.Parse(time.RFC3339, text); err != nil || since.Before(began) || since.After(time.Now()) {
		t.Errorf("the outage begins at %s, and Ready has %q: %v", began, text, err)
	}
	// The next probe follows after a second. The annotation triggers one more reconciliation.
	time.Sleep(1500 * time.Millisecond)
	w.ask(hr, "again")
	if again := condition(hr, helmv2.ConditionReady); again.Message != first.Message {
		t.Errorf("Ready changes from %q to %q", first.Message, again.Message)
	}
	resume()
	w.untilReady(hr)
	if hr.Status.Failures != 0 || newest(hr) != 2 || w.configMap("app").Data["message"] != "two" {
		t.Errorf("revision %d, %d failures", newest(hr), hr.Status.Failures)
	}
	if conditions := hr.Status.Conditions; slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, marker) }) {
		t.Errorf("the outage is over, and the conditions are %+v", conditions)
	}
}
