// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// Want holds the resolved inputs of a HelmRelease. Decisions use Desired; actions need the rest
// too.
type Want struct {
	release.Desired
	// Artifact is the packaged chart; zero if the HelmRelease is deleted or suspended.
	Artifact chart.Artifact
	// Values belong to the caller, since Helm changes the values that it is given. They are never
	// nil if Artifact is set.
	Values map[string]any
	// Secrets lists the contents of Secrets that Values come from. Messages about the release have
	// to be redacted from them.
	Secrets []string
	// Layers returns the layers of Values, the one with the lowest precedence first. It parses them
	// again.
	Layers func() []plan.Layer
	// Contents returns what the values come from, with digests.
	Contents func() []release.ValuesContent
	// Files are the files of sources that Values come from.
	Files []UsedFiles
}

// Resolver resolves HelmReleases. It is safe for concurrent use.
type Resolver struct {
	reader client.Reader
	live   client.Reader
	charts *chart.Store
	// files reads sources of values, and patterns returns the valuesKeys of all releases that use one.
	files    client.Reader
	patterns func(ctx context.Context, kind string, key types.NamespacedName) []string
	// checkouts replace sources of values.
	checkouts Checkouts
	objects   Objects
	// clock is set if downloads of values are waited for, and measures the time until a deadline.
	clock func() time.Time
	// leaveOut reports whether files that cannot be read are left out. Nil leaves out none.
	leaveOut func(FileSource, error) bool
	admit    Admission
	admitted ValuesAdmission
	settings Settings
}

// Admission decides whether the chart of a source may be used: the object that provides it, or the
// source that spec.chart stands for, without status. A chart that may not be used is a *Refused.
// Nothing is fetched before, unless it is refused for changes only.
type Admission func(ctx context.Context, hr *helmv2.HelmRelease, source client.Object) error

// NewResolver returns a resolver with the default Settings. It reads sources and dependencies
// through reader, which is usually a cache. It reads ConfigMaps and Secrets through live, and
// dependencies that reader does not hold. live should not be a cache: a cache keeps the data of
// Secrets in memory, and may return outdated data.
func NewResolver(reader, live client.Reader, charts *chart.Store) *Resolver {
	all := func(context.Context, *helmv2.HelmRelease, client.Object) error { return nil }
	own := func(context.Context, string, types.NamespacedName) []string { return nil }
	r := &Resolver{reader: reader, live: live, charts: charts, files: reader, patterns: own, admit: all}
	return r.WithSettings(Settings{})
}

// dependencies checks the dependencies of HelmReleases.
type dependencies struct{ *Resolver }

// WithSettings returns a copy of r that follows settings.
func (r *Resolver) WithSettings(settings Settings) *Resolver {
	if settings.DependencyRetry == 0 {
		settings.DependencyRetry = defaultDependencyRetry
	}
	with := *r
	with.settings = settings
	return &with
}

// WithFiles returns a copy of r that reads sources of values through files. patterns returns the
// valuesKeys of all releases that use a source, so that its artifact is unpacked once for them. Without
// it, sources of values are read as sources of charts are.
func (r *Resolver) WithFiles(files client.Reader, patterns func(ctx context.Context, kind string, key types.NamespacedName) []string) *Resolver {
	with := *r
	with.files, with.patterns = files, patterns
	return &with
}

// WithDownloads returns a copy of r that reads sources of values through files, and waits for their
// artifacts. If ctx has a deadline, each download has half of the time until then, so that the rest can be
// read. It is for readers that need the values of one release now.
func (r *Resolver) WithDownloads(files client.Reader, clock func() time.Time) *Resolver {
	with := *r
	with.files, with.clock = files, clock
	return &with
}

// LeavingOut returns a copy of r that leaves out the files of an entry that cannot be read if leaveOut, called
// with the reason, returns true.
func (r *Resolver) LeavingOut(leaveOut func(FileSource, error) bool) *Resolver {
	with := *r
	with.leaveOut = leaveOut
	return &with
}

// WithCheckouts returns a copy of r that reads files with values in directories in place of sources, which
// need not exist.
func (r *Resolver) WithCheckouts(checkouts Checkouts) *Resolver {
	with := *r
	with.checkouts = checkouts
	return &with
}

// WithObjects returns a copy of r that reads dependencies of other kinds than HelmRelease through
// objects. Without it, such dependencies are never ready.
func (r *Resolver) WithObjects(objects Objects) *Resolver {
	with := *r
	with.objects = objects
	return &with
}

// WithValuesAdmission returns a copy of r that uses only values that are admitted. Without it, all are.
func (r *Resolver) WithValuesAdmission(admitted ValuesAdmission) *Resolver {
	with := *r
	with.admitted = admitted
	return &with
}

// WithAdmission returns a copy of r that uses only charts that are admitted. Without it, all are.
func (r *Resolver) WithAdmission(admit Admission) *Resolver {
	with := *r
	with.admit = admit
	return &with
}

// Object names an object in the controller's own cluster.
type Object struct {
	Kind schema.GroupVersionKind
	// Key has no namespace if the kind is cluster-scoped.
	Key types.NamespacedName
}

// Objects reads objects of any kind in the controller's own cluster. It is safe for concurrent
// use.
//
// With a readyExpr the author of a HelmRelease can extract the content of an object letter by
// letter. So objects are read with the impersonated identity of the release, never with rights
// that its author does not have.
type Objects interface {
	// Namespaced reports whether a kind is namespaced. If the API server does not serve the kind,
	// meta.IsNoMatchError holds for the error.
	Namespaced(ctx context.Context, kind schema.GroupVersionKind) (bool, error)
	// Get reads an object with the identity of hr. The caller may change the result. Errors come
	// from the API server, or satisfy meta.IsNoMatchError.
	Get(ctx context.Context, hr *helmv2.HelmRelease, object Object) (*unstructured.Unstructured, error)
	// Namesake returns the first of the kinds that has an object with the given key which the
	// identity of hr may see; false if none has. The result may be a few minutes old.
	Namesake(ctx context.Context, hr *helmv2.HelmRelease, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool)
}
