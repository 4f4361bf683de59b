// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	apidiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// CRDKind is the kind of CRDs.
const CRDKind = "CustomResourceDefinition"

// crdTimeout limits the wait until new CRDs are served.
const crdTimeout = 60 * time.Second

// CRDPlan defines how the CRDs in the crds folders of a chart are applied.
type CRDPlan struct {
	Policy  helmv2.CRDsPolicy
	Timeout time.Duration
	// ServerSide returns the method that replaces CRDs. It is called only if CRDs are replaced.
	ServerSide func() (bool, error)
}

// CRDs are the objects in the crds folders of the chart of an action.
type CRDs struct {
	ctx        context.Context //nolint:containedctx // it lives as long as one action
	log        func(format string, args ...any)
	helm       *kube.Client
	builder    *builder
	waiter     *wait.Waiter
	serverSide *serverSide

	list kube.ResourceList
}

// Read reads the objects in the crds folders of a chart.
func (c *CRDs) Read(files []helmchart.CRD) error {
	for _, file := range files {
		list, err := c.builder.parse(bytes.NewReader(file.File.Data), wanted)
		if err != nil {
			return fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		c.list = append(c.list, list...)
	}
	return nil
}

// Apply applies the CRDs in the crds folders of a chart, and waits until they are served. It
// deletes no CRD, and ignores other objects in the folders.
func (c *CRDs) Apply(files []helmchart.CRD, plan CRDPlan) error {
	for _, file := range files {
		list, err := c.builder.parse(bytes.NewReader(file.File.Data), wanted)
		if err != nil && plan.Policy == helmv2.CRDsSkip {
			c.log("CRDs in %s, which are skipped: %s", file.Filename, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		c.list = append(c.list, list...)
	}
	if plan.Policy == helmv2.CRDsSkip {
		return nil
	}
	written, err := c.write(plan)
	if err != nil || len(written) == 0 {
		return err
	}
	timeout := min(plan.Timeout, crdTimeout)
	if err := c.waiter.UntilEstablished(written, timeout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	return waitUntilServed(ctx, c.builder.getter, written)
}

// write returns the CRDs that were created or replaced.
func (c *CRDs) write(plan CRDPlan) (written kube.ResourceList, err error) {
	put := c.create
	if plan.Policy == helmv2.CRDsCreateReplace {
		serverSide, err := plan.ServerSide()
		if err != nil {
			return nil, err
		}
		put = c.replace
		if serverSide {
			put = c.apply
		}
	}
	for _, info := range c.list {
		if kind := info.Mapping.GroupVersionKind.Kind; kind != CRDKind {
			c.log("%s %s in the crds folder is no CustomResourceDefinition and is left out", kind, info.Name)
			continue
		}
		wrote, err := put(info)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", info.Name, err)
		}
		if wrote {
			written.Append(info)
		}
	}
	return written, nil
}

// create creates a CRD. It does not change an existing one.
func (c *CRDs) create(info *resource.Info) (bool, error) {
	_, err := c.helm.Create(kube.ResourceList{info})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, err
}

func (c *CRDs) apply(info *resource.Info) (bool, error) {
	_, err := c.serverSide.apply(info, false)
	return err == nil, err
}

func (c *CRDs) replace(info *resource.Info) (bool, error) {
	if created, err := c.create(info); created || err != nil {
		return created, err
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := resource.NewHelper(info.Client, info.Mapping).WithFieldManager(fieldManager).
			Replace(info.Namespace, info.Name, true, info.Object)
		if err != nil {
			return err
		}
		return info.Refresh(live, true)
	})
	return err == nil, err
}

// waitUntilServed waits until the API server serves the kinds of CRDs. That is a moment after the
// CRDs are established, and charts contain objects of these kinds.
func waitUntilServed(ctx context.Context, getter genericclioptions.RESTClientGetter, list kube.ResourceList) error {
	cached, err := getter.ToDiscoveryClient()
	if err != nil {
		return err
	}
	for _, info := range list {
		for _, gvk := range servedKinds(info) {
			if err := untilServed(ctx, cached.RESTClient(), gvk); err != nil {
				return fmt.Errorf("CustomResourceDefinition %s: version %s: %w", info.Name, gvk.Version, err)
			}
		}
	}
	return rediscover(ctx, getter, cached, list)
}

// discoveryTimeout limits the wait until discovery contains kinds that are served.
const discoveryTimeout = 2 * time.Second

// rediscover invalidates the cached discovery until it contains the CRDs of a list. If it contains
// them already, it is kept: most releases write the CRDs of the release before. The API server
// updates its discovery a little after it serves a kind. The wait ends after a timeout without an
// error, since the objects can be created anyway.
func rediscover(ctx context.Context, getter genericclioptions.RESTClientGetter, cached apidiscovery.CachedDiscoveryInterface, list kube.ResourceList) error {
	connection, ok := getter.(interface {
		Capabilities() (*version.Info, []string, error)
	})
	if !ok {
		cached.Invalidate()
		return nil
	}
	for waited := time.Duration(0); ; waited += wait.PollInterval(waited) {
		_, apis, err := connection.Capabilities()
		if err != nil && !apidiscovery.IsGroupDiscoveryFailedError(err) {
			return err
		}
		if contains(apis, list) {
			return nil
		}
		cached.Invalidate()
		if waited >= discoveryTimeout {
			return nil
		}
		if waited == 0 {
			// The first answer may come from the cache.
			continue
		}
		select {
		case <-time.After(wait.PollInterval(waited)):
		case <-ctx.Done():
			return nil
		}
	}
}

// contains reports whether apis contains the served versions of each CRD, and no other versions.
func contains(apis []string, list kube.ResourceList) bool {
	for _, info := range list {
		want := map[string]bool{}
		var group, kind string
		for _, gvk := range servedKinds(info) {
			group, kind = gvk.Group, gvk.Kind
			want[gvk.GroupVersion().String()+"/"+kind] = true
		}
		for _, api := range apis {
			if strings.HasPrefix(api, group+"/") && strings.HasSuffix(api, "/"+kind) && len(want) > 0 {
				if !want[api] {
					return false
				}
				delete(want, api)
			}
		}
		if len(want) > 0 {
			return false
		}
	}
	return true
}

func servedKinds(info *resource.Info) []apischema.GroupVersionKind {
	crd, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return ServedKinds(crd)
}

// ServedKinds returns the versions and kinds that the API server serves because of a CRD.
func ServedKinds(crd *unstructured.Unstructured) []apischema.GroupVersionKind {
	kind := definedKind(crd)
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var kinds []apischema.GroupVersionKind
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, ok := version["name"].(string); ok && version["served"] == true {
			kinds = append(kinds, kind.WithVersion(name))
		}
	}
	return kinds
}

// kindDefinedBy returns the kind that an object defines; false if it is no CRD.
func kindDefinedBy(info *resource.Info) (apischema.GroupKind, bool) {
	crd, ok := info.Object.(*unstructured.Unstructured)
	if !ok || info.Mapping.GroupVersionKind.Kind != CRDKind {
		return apischema.GroupKind{}, false
	}
	return definedKind(crd), true
}

// definedKind returns the kind that a CRD defines.
func definedKind(crd *unstructured.Unstructured) apischema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return apischema.GroupKind{Group: group, Kind: kind}
}

func untilServed(ctx context.Context, api rest.Interface, gvk apischema.GroupVersionKind) error {
	for waited := time.Duration(0); ; waited += wait.PollInterval(waited) {
		var served metav1.APIResourceList
		// The discovery client would answer from its cache.
		err := api.Get().AbsPath("/apis", gvk.Group, gvk.Version).Do(ctx).Into(&served)
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			return err
		}
		for _, resource := range served.APIResources {
			if resource.Kind == gvk.Kind {
				return nil
			}
		}
		select {
		case <-time.After(wait.PollInterval(waited)):
		case <-ctx.Done():
			return fmt.Errorf("established but not served: %w", ctx.Err())
		}
	}
}
