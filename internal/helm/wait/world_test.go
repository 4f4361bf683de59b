// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

const (
	jobPath = "/apis/batch/v1/namespaces/prod/jobs/migrate"
	jobYAML = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\n"
	oneYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	onePath = "/api/v1/namespaces/prod/configmaps/one"
	// claimYAML is a claim that waits for a Pod, and lateYAML its class.
	claimPath = "/api/v1/namespaces/prod/persistentvolumeclaims/data"
	claimYAML = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: late}\nstatus: {phase: Pending}\n"
	latePath  = "/apis/storage.k8s.io/v1/storageclasses/late"
	lateYAML  = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: late}\nprovisioner: a\nvolumeBindingMode: WaitForFirstConsumer\n"
	bothYAML  = jobYAML + "---\n" + oneYAML
)

// world is an API server with a connection and the watches through it.
type world struct {
	*apitest.Server

	t       *testing.T
	conn    *cluster.Connection
	watches Watches
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, Server: apitest.New(t)}
	var err error
	if w.conn, err = cluster.Connect(w.Config()); err != nil {
		t.Fatal(err)
	}
	return w
}

func watchableWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Watchable = true
	return w
}

// client writes objects as package helm does, and waits for them.
type client struct {
	*Waiter

	kube *kube.Client
}

// newClient returns a client and the objects in manifests, none of which exists yet.
func newClient(ctx context.Context, t *testing.T, w *world, manifests string, options Options) (*client, kube.ResourceList) {
	t.Helper()
	kc := kube.New(w.conn)
	kc.Namespace, kc.Log = "prod", t.Logf
	options.Getter, options.Watches, options.Now = w.conn, &w.watches, time.Now
	options.Clients = kc.Factory.KubernetesClientSet
	options.Secrets = func() []string { return nil }
	options.HookRole = release.RoleHook
	c := &client{Waiter: New(ctx, options), kube: kc}
	list, err := c.parse(strings.NewReader(manifests))
	if err != nil {
		t.Fatal(err)
	}
	return c, list
}

// patient returns a client without options besides idle.
func patient(ctx context.Context, t *testing.T, w *world, idle func() func(), manifests string) (*client, kube.ResourceList) {
	t.Helper()
	return newClient(ctx, t, w, manifests, Options{Idle: idle})
}

// parse returns the objects in manifests, with the label of a HelmRelease.
func (c *client) parse(manifests io.Reader) (kube.ResourceList, error) {
	list, err := c.kube.Build(manifests, false)
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			object.SetLabels(map[string]string{helmv2.LabelName: "app"})
		}
	}
	return list, err
}

// Create creates objects and keeps the answers.
func (c *client) Create(list kube.ResourceList) (*kube.Result, error) {
	result, err := c.kube.Create(list)
	if err == nil {
		c.keepAll(list)
	}
	return result, err
}

func (c *client) keepAll(list kube.ResourceList) {
	for _, info := range list {
		c.Written(info, info.Object)
	}
}

// Delete deletes objects and keeps the answers.
func (c *client) Delete(list kube.ResourceList) (errs []error) {
	policy := metav1.DeletePropagationBackground
	for _, info := range list {
		answer, err := resource.NewHelper(info.Client, info.Mapping).
			DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{PropagationPolicy: &policy})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.Deleted(info, answer)
	}
	return errs
}

func (c *client) Wait(list kube.ResourceList, timeout time.Duration) error {
	return c.UntilReady(list, timeout, Readiness{})
}

func (c *client) WaitWithJobs(list kube.ResourceList, timeout time.Duration) error {
	return c.UntilReady(list, timeout, Readiness{Jobs: true})
}

func (c *client) WatchUntilReady(list kube.ResourceList, timeout time.Duration) error {
	return c.UntilDone(list, timeout)
}

func (c *client) WaitForDelete(list kube.ResourceList, timeout time.Duration) error {
	return c.UntilDeleted(list, timeout)
}

func withStatus(t *testing.T, manifest, jobStatus string) map[string]any {
	t.Helper()
	return apitest.Parse(t, manifest+"status: "+jobStatus+"\n").Object
}

// examiner is an Examiner with fixed answers that keeps the requests.
type examiner struct {
	answer func(q release.DiagnosisRequest) *release.Diagnosis
	asked  []string
}

// Examine implements Examiner.
func (e *examiner) Examine(_ context.Context, q release.DiagnosisRequest) *release.Diagnosis {
	text := "why"
	if q.Brief {
		text = "whether"
	}
	for _, s := range q.Objects {
		text += " " + string(s.Role) + s.Object.Kind + "/" + s.Object.Name
		if s.Failed {
			text += "!"
		}
		if s.HideLogs {
			text += "?"
		}
	}
	if e.asked = append(e.asked, text); e.answer == nil {
		return nil
	}
	return e.answer(q)
}
