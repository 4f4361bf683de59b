// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// sampleRegistry is the address in config/samples, which is replaced by that of the demo's
// registry.
const sampleRegistry = "oci://127.0.0.1:5000/"

// helmChartSample is the folder of config/samples with a HelmChart of k3s.
const helmChartSample = "helmchart"

// demo is one run, from the first line to cleaning up.
type demo struct {
	settings

	dir   string
	began time.Time
	// page is the address of the web page.
	page    string
	env     *harness.Environment
	release types.NamespacedName
	// shown is the last line printed for each object, times left out.
	shown map[string]string
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// show brings the sample to ready, changes a value and waits again.
func (d *demo) show(ctx context.Context) error {
	d.say("pushing test/charts/hello to oci://%s/charts/hello:0.1.0", d.env.Registry.Address)
	archive, err := harness.HelloChart("0.1.0")
	if err != nil {
		return err
	}
	if err := d.env.Registry.PushChart(ctx, "charts", archive); err != nil {
		return err
	}
	if d.kubeconfig != "" {
		d.say("that registry is on this machine only: so must be the cluster's source-controller")
	}
	if err := d.applySamples(ctx); err != nil {
		return err
	}
	hr, err := d.waitReady(ctx, 1)
	if err != nil {
		return err
	}
	d.say("changing a value: message")
	changed := time.Now()
	revision := newest(hr)
	changes := client.Object(hr)
	if d.sample == helmChartSample {
		changes = &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name}}
	}
	if err := d.patch(ctx, changes, `{"spec":{"values":{"message":"hello again"}}}`); err != nil {
		return err
	}
	if hr, err = d.waitReady(ctx, revision+1); err != nil {
		return err
	}
	if newest(hr) != revision+1 {
		return fmt.Errorf("revision %d is deployed, and changing a value should have led to %d", newest(hr), revision+1)
	}
	d.say("revision %d Ready after %.1fs", newest(hr), time.Since(changed).Seconds())
	return nil
}

func newest(hr *helmv2.HelmRelease) int {
	if len(hr.Status.History) == 0 {
		return 0
	}
	return hr.Status.History[0].Version
}

// applySamples applies config/samples, in a namespace of their own.
func (d *demo) applySamples(ctx context.Context) error {
	folder := filepath.Join("config", "samples", d.sample)
	d.say("applying %s to namespace %s", folder, namespace)
	if d.sample == helmChartSample {
		if err := d.env.ApplyCRDs(ctx, filepath.Join(harness.Root(), "config", "helmchart", "crd")); err != nil {
			return err
		}
	}
	objects, err := harness.ReadObjects(filepath.Join(harness.Root(), folder))
	if err != nil {
		return err
	}
	for _, object := range objects {
		// The field of the spec that names the registry.
		var registry []string
		switch object.GetKind() {
		case helmv2.HelmReleaseKind:
			registry = []string{"spec", "chart", "spec", "url"}
		case cattlev1.HelmChartKind:
			registry = []string{"spec", "chart"}
		case "RoleBinding":
			if err := inNamespace(object); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		d.release = types.NamespacedName{Namespace: namespace, Name: object.GetName()}
		if err := useRegistry(object, d.env.Registry.Address, registry...); err != nil {
			return err
		}
	}
	home := &unstructured.Unstructured{}
	home.SetAPIVersion("v1")
	home.SetKind("Namespace")
	home.SetName(namespace)
	home.SetLabels(map[string]string{demoLabel: "true"})
	if err := d.env.Apply(ctx, namespace, append([]*unstructured.Unstructured{home}, objects...)...); err != nil {
		return err
	}
	return d.admitVisitors(ctx)
}

// inNamespace sets the namespace of the subjects of a RoleBinding, as kustomize does.
func inNamespace(binding *unstructured.Unstructured) error {
	subjects, _, err := unstructured.NestedSlice(binding.Object, "subjects")
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if subject, ok := s.(map[string]any); ok {
			subject["namespace"] = namespace
		}
	}
	return unstructured.SetNestedSlice(binding.Object, subjects, "subjects")
}

// useRegistry replaces the registry in a field of a sample's spec.
func useRegistry(object *unstructured.Unstructured, address string, field ...string) error {
	url, _, err := unstructured.NestedString(object.Object, field...)
	if err != nil {
		return err
	}
	path, ok := strings.CutPrefix(url, sampleRegistry)
	if !ok {
		return fmt.Errorf("%s %s of config/samples: %s %q does not begin with %s", object.GetKind(), object.GetName(), strings.Join(field, "."), url, sampleRegistry)
	}
	return unstructured.SetNestedField(object.Object, "oci://"+address+"/"+path, field...)
}

func (d *demo) patch(ctx context.Context, object client.Object, patch string) error {
	if err := d.env.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, json.RawMessage(patch))); err != nil {
		return fmt.Errorf("patch %T %s: %w", object, d.release, err)
	}
	return nil
}

// waitReady waits for a revision of the release, and prints its progress.
func (d *demo) waitReady(ctx context.Context, revision int) (*helmv2.HelmRelease, error) {
	limited, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	hr, err := d.env.WaitRelease(limited, d.release, "to be ready", func(hr *helmv2.HelmRelease) bool {
		d.progress(limited)
		return harness.Ready(hr) && newest(hr) >= revision
	})
	switch {
	case err == nil:
		d.progress(ctx)
		return hr, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if d.kubeconfig != "" {
		err = fmt.Errorf("%w\n%s", err, d.doubts(ctx))
	}
	return nil, err
}

// doubts returns hints about an existing cluster in which the release does not become ready.
func (d *demo) doubts(ctx context.Context) string {
	var repository sourcev1.OCIRepository
	err := d.env.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: namespace + "-" + d.release.Name}, &repository)
	if err == nil && repository.Status.Artifact == nil {
		return fmt.Sprintf("source-controller has not fetched oci://%s: that registry listens on this machine only, "+
			"so source-controller has to run here too", d.env.Registry.Address)
	}
	return "source-controller has the chart; see the controller's log above"
}

// progress prints one line for each object whose condition Ready has changed.
func (d *demo) progress(ctx context.Context) {
	var repositories sourcev1.OCIRepositoryList
	var releases helmv2.HelmReleaseList
	if errors.Join(d.env.Client.List(ctx, &repositories, client.InNamespace(namespace)),
		d.env.Client.List(ctx, &releases, client.InNamespace(namespace))) != nil {
		return // the caller that waits reports it
	}
	for i := range repositories.Items {
		o := &repositories.Items[i]
		d.line(sourcev1.OCIRepositoryKind, o.Name, o.Status.Conditions)
	}
	for i := range releases.Items {
		o := &releases.Items[i]
		d.line(helmv2.HelmReleaseKind, o.Name, o.Status.Conditions)
	}
}

func (d *demo) line(kind, name string, conditions []metav1.Condition) {
	c := apimeta.FindStatusCondition(conditions, helmv2.ConditionReady)
	if c == nil {
		return
	}
	object := fmt.Sprintf("%s/%s/%s", namespace, kind, name)
	text := fmt.Sprintf("Ready=%-7s %s: %s", c.Status, c.Reason, strings.Join(strings.Fields(c.Message), " "))
	if d.shown[object] != text {
		d.shown[object] = text
		d.say("%-30s %s", object, text)
	}
}

// watch prints progress until the context ends.
func (d *demo) watch(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.progress(ctx)
			if err := d.env.Controller.Ended(); err != nil {
				d.say("%s; its log ends:\n%s", err, d.env.Controller.LogTail(logLines))
				return
			}
		}
	}
}

// explain prints the next steps.
func (d *demo) explain() {
	kubectl := filepath.Join(d.bin, "kubectl")
	if d.kubeconfig != "" {
		kubectl = "kubectl"
	}
	fmt.Print(next{
		kubectl: kubectl, plugin: d.plugin, kubeconfig: d.env.Kubeconfig, page: d.page, log: d.env.Controller.LogPath, release: d.release,
	})
}
