// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// home is the namespace of the controller, itself the name that the chart gives it, and identity
	// its user.
	home     = "helm-system"
	itself   = "helm-controller"
	identity = "system:serviceaccount:" + home + ":" + itself
	// nodeIP is an address that only this machine has.
	nodeIP = "10.200.0.1"
)

// TestInstalled: the image of a release works as its chart deploys it, with only these permissions.
// TestChartIsConfig says that config/default deploys the same. Not parallel: it replaces the controller
// of the other tests.
func TestInstalled(t *testing.T) {
	w := newWorld(t)
	w.Must(env.Controller.Stop(t.Context()))
	t.Cleanup(func() { w.Must(env.Controller.Start()) })
	w.install()

	// Without a ServiceAccount name the release has the default one, which has no permissions.
	hr := w.release("app", values{})
	defaultAccount := w.Namespace + "/helm-release"
	w.Until(hr, "to report that "+defaultAccount+" has no permission", func(hr *helmv2.HelmRelease) bool {
		ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionFalse && strings.Contains(ready.Message, defaultAccount)
	})
	deployer := w.deployer()
	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = deployer })
	w.UntilReady(hr)
	deployment := &appsv1.Deployment{ObjectMeta: w.Meta("app")}
	w.Must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))

	w.Must(env.Client.Delete(t.Context(), hr))
	w.UntilGone(hr)
	w.UntilGone(deployment)

	pod := w.controllerPod()
	if status := pod.Status.ContainerStatuses[0]; !status.Ready || status.RestartCount > 0 {
		t.Errorf("the controller's container is %+v", status)
	}
	log, err := env.pods.CoreV1().Pods(home).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	w.Must(err)
	for line := range strings.Lines(string(log)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("with --log-encoding=json it says %s", line)
		}
		if strings.Contains(line, "forbidden") && strings.Contains(line, identity) {
			t.Errorf("it lacks a right: %s", line)
		}
	}
}

// install installs the chart of the release as `helm install --wait` does, fit for this node.
func (w world) install() {
	w.Helper()
	charts, err := filepath.Glob(filepath.Join(os.Getenv("PINTLE_RELEASE"), "pintle-*.tgz"))
	if err != nil || len(charts) != 1 {
		w.Fatalf("charts %v: %v", charts, err)
	}
	c, err := loader.Load(charts[0])
	w.Must(err)
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	w.Must(err)
	server, err := url.Parse(config.Host)
	w.Must(err)
	helm, err := env.Helm(home)
	w.Must(err)
	w.Cleanup(func() { w.uninstall() })
	in := action.NewInstall(helm)
	in.ReleaseName, in.Namespace, in.CreateNamespace = "pintle", home, true
	in.Wait, in.Timeout, in.PostRenderer = true, 2*time.Minute, hostNetwork{}
	_, err = in.RunWithContext(w.Context(), c, map[string]any{
		"extraArgs": []any{"--metrics-addr=" + nodeIP + ":8080", "--health-addr=" + nodeIP + ":9440"},
		"extraEnv": []any{
			map[string]any{"name": "KUBERNETES_SERVICE_HOST", "value": server.Hostname()},
			map[string]any{"name": "KUBERNETES_SERVICE_PORT", "value": server.Port()},
		},
	})
	if err != nil {
		there := w.World
		there.Namespace = home
		w.Fatalf("%v\n%s", err, there.PodsText(w.Context()))
	}
}

// hostNetwork makes the Pod use the network of the node, which has no Pod network.
type hostNetwork struct{}

func (hostNetwork) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	const line = "\n      serviceAccountName: "
	if n := strings.Count(manifests.String(), line); n != 1 {
		return nil, fmt.Errorf("the chart has %d Pods, want 1", n)
	}
	return bytes.NewBufferString(strings.Replace(manifests.String(), line, "\n      hostNetwork: true"+line, 1)), nil
}

// uninstall deletes the installed objects, except the CRDs, which all tests need, and the namespace.
func (w world) uninstall() {
	helm, err := env.Helm(home)
	w.Must(err)
	out := action.NewUninstall(helm)
	out.Wait, out.Timeout, out.IgnoreNotFound = true, 2*time.Minute, true
	if _, err := out.Run("pintle"); err != nil {
		w.Error(err)
	}
	// The test's own context has ended by now.
	ctx := context.WithoutCancel(w.Context())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	w.Must(client.IgnoreNotFound(env.Client.Delete(ctx, namespace)))
	w.UntilGoneIn(ctx, namespace)
}

// deployer is a ServiceAccount that may do everything in the test's namespace.
func (w world) deployer() string {
	w.Helper()
	const name = "deployer"
	w.Must(env.Client.Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: w.Meta(name)}))
	w.Must(env.Client.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: w.Meta(name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: name}},
	}))
	return name
}

func (w world) controllerPod() *corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	w.Must(env.Client.List(w.Context(), &pods, client.InNamespace(home), client.MatchingLabels{"app": itself}))
	if len(pods.Items) != 1 {
		w.Fatalf("there are %d pods of the controller, want 1", len(pods.Items))
	}
	return &pods.Items[0]
}
