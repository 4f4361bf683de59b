// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// home is the namespace of the controller in config/default, itself its name there, and
	// identity its user.
	home     = "helm-system"
	itself   = "helm-controller"
	identity = "system:serviceaccount:" + home + ":" + itself
	// nodeIP is an address that only this machine has.
	nodeIP = "10.200.0.1"
)

// TestInstalled: the image of the Dockerfile works as config/default deploys it, with only these
// permissions. Not parallel: it replaces the controller of the other tests.
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

// install applies config/default, fit for this node, and waits until the kubelet
// finds the controller ready.
func (w world) install() {
	w.Helper()
	objects, err := harness.Kustomize("config/default")
	w.Must(err)
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			w.fit(object)
		}
	}
	w.Cleanup(func() { w.uninstall(objects) })
	w.Must(env.Apply(w.Context(), "", objects...))
	there := w.World
	there.Namespace = home
	ctx := w.Context()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: itself}}
	w.Must(env.Until(ctx, "the controller to be available", func() (string, bool) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err.Error(), false
		}
		return there.PodsText(ctx), deployment.Status.AvailableReplicas == 1
	}))
}

// fit adapts the Pod to this node, which has no Pod network: the Pod uses the host's network, and
// gets the addresses of the API server and source-controller.
func (w world) fit(object *unstructured.Unstructured) {
	w.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	w.Must(err)
	server, err := url.Parse(config.Host)
	w.Must(err)
	d := &appsv1.Deployment{}
	w.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d))
	pod := &d.Spec.Template.Spec
	pod.HostNetwork = true
	c := &pod.Containers[0]
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: server.Hostname()},
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: server.Port()})
	c.Args = append(c.Args, "--metrics-addr="+nodeIP+":8080", "--health-addr="+nodeIP+":9440")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	w.Must(err)
	delete(content, "status")
	object.Object = content
}

// uninstall deletes the installed objects, except the CRDs, which all tests need.
func (w world) uninstall(objects []*unstructured.Unstructured) {
	// The test's own context has ended by now.
	ctx := context.WithoutCancel(w.Context())
	for _, object := range slices.Backward(objects) {
		if object.GetKind() == "CustomResourceDefinition" {
			continue
		}
		if err := client.IgnoreNotFound(env.Client.Delete(ctx, object)); err != nil {
			w.Error(err)
		}
	}
	w.UntilGoneIn(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}})
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
