// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// Build parses manifests and adds the labels of the HelmRelease to every object. It does not
// validate the objects: Preflight does. In an uninstall, it adds the leftovers of failed revisions.
//
// Objects of a stored manifest whose kinds are gone are left out.
func (c *Client) Build(reader io.Reader, _ bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	of := c.builds.next()
	list, err := c.builder.parse(bytes.NewReader(text), of)
	if err != nil {
		return list, err
	}
	list = c.Leftovers.uninstall(string(text), list)
	c.lookups.prepare(list)
	c.builds.add(string(text), list, of)
	return list, nil
}

// Own returns the names of the admission webhooks that the release configures, and of the APIs that
// its APIServices register, as "<group>/<version>".
func (c *Client) Own() []string {
	all := slices.Concat(c.builds.previous, c.builds.last)
	return slices.Concat(webhooksIn(all), apisIn(all))
}

// Inventory returns the objects of a manifest and of the crds folders of its chart. It sends no
// requests that the action has not sent already.
func (c *Client) Inventory(manifest string) ([]release.Object, error) {
	list, known := c.builds.byManifest[manifest]
	if !known {
		var err error
		if list, err = c.builder.build(strings.NewReader(manifest), stored); err != nil {
			return nil, err
		}
	}
	return describe(slices.Concat(list, c.CRDs.list)), nil
}

// StoredManifests states which calls of Build get the manifest of a stored revision instead of a
// new one. Helm's order of the calls is fixed for each action.
type StoredManifests int

const (
	// NoneStored is for installs and tests.
	NoneStored StoredManifests = 0
	// FirstStored is for rollbacks: Helm builds the objects of the current revision first.
	FirstStored StoredManifests = 1
	// SecondStored is for upgrades: Helm builds the new objects twice, and the objects of the
	// current revision in between.
	SecondStored StoredManifests = 2
	// AllStored is for uninstalls, and for reads of stored revisions.
	AllStored StoredManifests = -1
)

// builds are the objects that Build returned during an action.
type builds struct {
	// stored is which calls get stored manifests. calls is the number of calls.
	stored StoredManifests
	calls  int
	// last is the result of the last call, previous the result of the call before. Helm builds the
	// objects of the previous revision first, and then the objects of the new one.
	last, previous kube.ResourceList
	// changed are the objects of last that are not in previous, or in another form.
	changed kube.ResourceList
	// byManifest are all results. Helm changes the objects, but not their identity.
	byManifest map[string]kube.ResourceList
	// revision are the objects of the new revision, without hooks.
	revision kube.ResourceList
	// revised are the objects that the new revision changes, and log gets the images. Unlike changed,
	// they stay when hooks are built.
	revised kube.ResourceList
	log     *ChangeLog
	// lastSide is the side of the last call.
	lastSide side
}

// next returns whether the manifest of the next call is stored.
func (b *builds) next() side {
	b.calls++
	return side(b.stored == AllStored || b.stored == StoredManifests(b.calls))
}

// add stores the result of a call. Helm changes the objects afterwards, so they are compared here.
func (b *builds) add(manifest string, list kube.ResourceList, of side) {
	revises := of == wanted && b.lastSide == stored
	if revises {
		align(b.last, list)
	}
	b.lastSide = of
	if b.byManifest == nil {
		b.byManifest = map[string]kube.ResourceList{}
	}
	b.byManifest[manifest] = list
	b.previous, b.last, b.changed = b.last, list, changedObjects(list, b.last)
	if revises {
		b.revise()
	}
}

// setRevision takes the last result as the new revision. An install has no previous revision that
// would be built before. Helm builds the objects of a rollback later.
func (b *builds) setRevision() {
	b.revision = b.last
	if b.stored == NoneStored {
		b.revise()
	}
}

// revise stores the differences of the new revision, whose objects were built last.
func (b *builds) revise() {
	b.revised = b.changed
	b.log.SetImages(imageChanges(contentOf(b.previous), contentOf(b.last)))
}

// counts returns how many objects of the new revision a request has created or changed.
func (b *builds) counts(result *kube.Result) release.ObjectCounts {
	revised := make(map[*resource.Info]bool, len(b.revised))
	for _, info := range b.revised {
		revised[info] = true
	}
	counts := release.ObjectCounts{Created: len(result.Created), Deleted: len(result.Deleted)}
	for _, info := range result.Updated {
		if revised[info] {
			counts.Changed++
		}
	}
	return counts
}

// contentOf yields the objects of a list with their content.
func contentOf(list kube.ResourceList) Manifest {
	return func(yield func(release.Object, map[string]any) bool) {
		for _, info := range list {
			if object, ok := info.Object.(*unstructured.Unstructured); ok && !yield(objectOf(info), object.Object) {
				return
			}
		}
	}
}

// added returns the objects that the previous revision does not contain.
func (b *builds) added() kube.ResourceList { return b.last.Difference(b.previous) }

// areHooks reports whether a list contains hooks, and not objects of the revision.
func (b *builds) areHooks(list kube.ResourceList) bool {
	return len(list) > 0 && !slices.Contains(b.revision, list[0])
}

// align maps the objects of the previous revision as the new revision has them, if both name the
// same object in two API groups. Helm would take them for two objects, and delete the former one.
func align(previous, next kube.ResourceList) {
	objects := make(map[objectKey]*resource.Info, len(next))
	for _, info := range next {
		objects[keyOf(info)] = info
	}
	for _, info := range previous {
		same := objects[keyOf(info)]
		if same != nil && same.Mapping.GroupVersionKind.Group != info.Mapping.GroupVersionKind.Group {
			info.Mapping, info.Client = same.Mapping, direct(same.Client)
		}
	}
}

// Skipped are the objects of stored manifests that the action skips, because the API server no
// longer serves their kinds. It may be used concurrently. A nil one drops the objects.
type Skipped struct {
	mu   sync.Mutex
	list []release.Object
}

// add adds an object under the kind of its manifest, once. Of an object that has a namespace only by
// default, the namespace may be unknown.
func (s *Skipped) add(info *resource.Info, gvk apischema.GroupVersionKind) {
	if s == nil {
		return
	}
	o := release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: info.Namespace, Name: info.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.ContainsFunc(s.list, func(k release.Object) bool {
		namespace := k.Namespace
		if k.Namespace = o.Namespace; namespace != "" && o.Namespace != "" {
			k.Namespace = namespace
		}
		return k == o
	})
	if !known {
		s.list = append(s.list, o)
	}
}

// List returns the skipped objects.
func (s *Skipped) List() []release.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// isMoved reports whether the API server serves the kind of an object only in another group or
// version than its manifest has. The manifest cannot be sent there.
func isMoved(info *resource.Info) bool {
	return info.Object.GetObjectKind().GroupVersionKind() != info.Mapping.GroupVersionKind
}

// skipMoved returns the objects of a stored manifest that can be sent to the API server. It adds
// the others to the skipped ones.
func (s *Skipped) skipMoved(list kube.ResourceList) kube.ResourceList {
	return list.Filter(func(info *resource.Info) bool {
		if !isMoved(info) {
			return true
		}
		s.add(info, info.Object.GetObjectKind().GroupVersionKind())
		return false
	})
}

// Objects returns the objects of a stored manifest in the form in which they are applied, except
// those that the API server would not accept because their kinds have moved or are gone. It returns
// an error together with the objects that could be read.
func (c *Client) Objects(manifest string, rls release.Target) ([]*resource.Info, error) {
	list, err := c.builder.build(strings.NewReader(manifest), stored)
	list = c.Skipped.skipMoved(list)
	for _, info := range list {
		if err := c.builder.origin.label(info); err != nil {
			return nil, err
		}
		setOwner(info, rls.Name, rls.Namespace)
	}
	return list, err
}
