// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	apidiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/wait"
)

const crdKind = "CustomResourceDefinition"

// crdTimeout bounds the wait for new definitions to be served.
const crdTimeout = 60 * time.Second

// crdPlan says what is to be done with the definitions in a chart's crds folders.
type crdPlan struct {
	policy  helmv2.CRDsPolicy
	timeout time.Duration
	// serverSide tells how definitions are replaced; asked only if they are.
	serverSide func() (bool, error)
}

// applyCRDs brings the definitions in the chart's crds folders into the cluster,
// for every action alike, and waits until they are served. None is ever deleted.
// What else lies in those folders is left alone, and so are the definitions of
// subcharts that the values switch off.
func (r *run) applyCRDs(c *helmchart.Chart, values map[string]any, plan crdPlan) error {
	if len(c.CRDObjects()) == 0 {
		return nil
	}
	// Helm does the same again when it renders; the second time finds nothing to
	// change.
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return err
	}
	for _, file := range c.CRDObjects() {
		list, err := r.client.parse(bytes.NewReader(file.File.Data))
		if err != nil && plan.policy == helmv2.CRDsSkip {
			r.logs.printf("CRDs in %s, which are skipped: %s", file.Filename, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		r.crds = append(r.crds, list...)
	}
	if plan.policy == helmv2.CRDsSkip {
		return nil
	}
	written, err := r.writeCRDs(plan)
	if err != nil || len(written) == 0 {
		return err
	}
	timeout := min(plan.timeout, crdTimeout)
	if err := r.client.waiter.UntilEstablished(written, timeout); err != nil {
		return err
	}
	return r.waitUntilServed(written, timeout)
}

// writeCRDs returns the definitions that were created or replaced.
func (r *run) writeCRDs(plan crdPlan) (written kube.ResourceList, err error) {
	put := createCRD
	if plan.policy == helmv2.CRDsCreateReplace {
		serverSide, err := plan.serverSide()
		if err != nil {
			return nil, err
		}
		put = replaceCRD
		if serverSide {
			put = applyCRD
		}
	}
	for _, info := range r.crds {
		if kind := info.Mapping.GroupVersionKind.Kind; kind != crdKind {
			r.logs.printf("%s %s in the crds folder is no CustomResourceDefinition and is left out", kind, info.Name)
			continue
		}
		wrote, err := put(r.client, info)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", info.Name, err)
		}
		if wrote {
			written.Append(info)
		}
	}
	return written, nil
}

// createCRD never changes a definition that is there, however it was made.
func createCRD(c *client, info *resource.Info) (bool, error) {
	_, err := c.Client.Create(kube.ResourceList{info})
	if alreadyExists(err) {
		return false, nil
	}
	return err == nil, err
}

func applyCRD(c *client, info *resource.Info) (bool, error) {
	_, err := c.apply(info, false)
	return err == nil, err
}

func replaceCRD(c *client, info *resource.Info) (bool, error) {
	if created, err := createCRD(c, info); created || err != nil {
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

// waitUntilServed waits until the server offers what the definitions define: it
// does so a moment after it calls them established, and charts have objects of
// these kinds. What was discovered before is forgotten, unless it is all still so:
// most releases write the definitions that the ones before them wrote.
func (r *run) waitUntilServed(list kube.ResourceList, timeout time.Duration) error {
	cached, err := r.config.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.client.ctx, timeout)
	defer cancel()
	for _, info := range list {
		for _, gvk := range servedKinds(info) {
			if err := untilServed(ctx, cached.RESTClient(), gvk); err != nil {
				return fmt.Errorf("CustomResourceDefinition %s: version %s: %w", info.Name, gvk.Version, err)
			}
		}
	}
	return r.rediscover(ctx, cached, list)
}

// discoveryTimeout bounds the wait for discovery to tell of what is served.
const discoveryTimeout = 2 * time.Second

// rediscover makes sure that what charts may ask of the cluster includes the
// definitions in list. The server collects that on its own time, a little after it
// serves them; it is waited for only so long, since the objects can be made anyway.
func (r *run) rediscover(ctx context.Context, cached apidiscovery.CachedDiscoveryInterface, list kube.ResourceList) error {
	way, ok := r.config.RESTClientGetter.(offering)
	if !ok {
		cached.Invalidate()
		return nil
	}
	for waited := time.Duration(0); ; waited += wait.PollInterval(waited) {
		_, apis, err := way.Capabilities()
		if err != nil && !apidiscovery.IsGroupDiscoveryFailedError(err) {
			return err
		}
		if tells(apis, list) {
			return nil
		}
		cached.Invalidate()
		if waited >= discoveryTimeout {
			return nil
		}
		if waited == 0 {
			// What was remembered may be all that was wrong.
			continue
		}
		select {
		case <-time.After(wait.PollInterval(waited)):
		case <-ctx.Done():
			return nil
		}
	}
}

// tells reports whether apis has the versions of each definition that are served,
// and no others.
func tells(apis []string, list kube.ResourceList) bool {
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

// servedKinds lists what a definition makes the server serve.
func servedKinds(info *resource.Info) []apischema.GroupVersionKind {
	crd, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return servedBy(crd)
}

func servedBy(crd *unstructured.Unstructured) []apischema.GroupVersionKind {
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

func untilServed(ctx context.Context, api rest.Interface, gvk apischema.GroupVersionKind) error {
	for waited := time.Duration(0); ; waited += wait.PollInterval(waited) {
		var served metav1.APIResourceList
		// Straight to the server: the discovery client answers from memory.
		err := api.Get().AbsPath("/apis", gvk.Group, gvk.Version).Do(ctx).Into(&served)
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			return err
		}
		for _, offered := range served.APIResources {
			if offered.Kind == gvk.Kind {
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
