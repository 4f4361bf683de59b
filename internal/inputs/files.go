// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	chartarchive "github.com/pintle-dev/pintle/internal/chart/archive"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// UsedFiles are the files of a source that an entry of spec.valuesFrom names.
type UsedFiles struct {
	Kind string
	Key  types.NamespacedName
	// Pattern is the valuesKey of the entry.
	Pattern  string
	Revision string
	// Digest is the digest of the paths and contents. Entries without files have one too.
	Digest string
}

// FileSource is a source that values come from.
type FileSource struct {
	Kind string
	Key  types.NamespacedName
}

// String returns "<kind>/<namespace>/<name>".
func (s FileSource) String() string { return s.Kind + "/" + s.Key.String() }

// FileSources returns the sources that spec.valuesFrom refers to, in the order of the spec.
func FileSources(hr *helmv2.HelmRelease) []FileSource {
	var all []FileSource
	for _, ref := range hr.Spec.ValuesFrom {
		if ref.IsFile() {
			all = append(all, FileSource{ref.Kind, types.NamespacedName{Namespace: ref.GetNamespace(hr.Namespace), Name: ref.Name}})
		}
	}
	return all
}

// HasFiles reports whether values come from files of sources.
func HasFiles(hr *helmv2.HelmRelease) bool { return len(FileSources(hr)) > 0 }

// WithoutFiles returns a HelmRelease without the entries of spec.valuesFrom that are files of sources, for
// readers that download no artifacts.
func WithoutFiles(hr *helmv2.HelmRelease) *helmv2.HelmRelease {
	if !HasFiles(hr) {
		return hr
	}
	without := hr.DeepCopy()
	without.Spec.ValuesFrom = slices.DeleteFunc(without.Spec.ValuesFrom, helmv2.ValuesReference.IsFile)
	return without
}

// FilePatterns returns the valuesKeys by which a HelmRelease selects files of a source.
func FilePatterns(hr *helmv2.HelmRelease, source FileSource) []string {
	var all []string
	for _, ref := range hr.Spec.ValuesFrom {
		if ref.IsFile() && ref.Kind == source.Kind && ref.Name == source.Key.Name && ref.GetNamespace(hr.Namespace) == source.Key.Namespace {
			all = append(all, ref.GetValuesKey())
		}
	}
	return all
}

// checkFiles returns a terminal *release.Blocked if an entry of spec.valuesFrom refers to a source that
// settings reject, or has a path that no file can have. The CRD validates a part of this, but an older
// CRD may be installed.
func (r *Resolver) checkFiles(hr *helmv2.HelmRelease) error {
	for i, ref := range hr.Spec.ValuesFrom {
		if !ref.IsFile() {
			continue
		}
		row, known := SourceKindOf(ref.Kind)
		if !known || ref.Kind == helmv2.KindHelmChart {
			return unsupported("spec.valuesFrom[%d].kind %s is not supported by this version", i, ref.Kind)
		}
		key := types.NamespacedName{Namespace: ref.GetNamespace(hr.Namespace), Name: ref.Name}
		if r.settings.NoCrossNamespaceRefs && key.Namespace != hr.Namespace {
			return accessDenied("cross-namespace references are not allowed: cannot access %s %s", ref.Kind, key)
		}
		if row.Gated && !r.settings.ExternalArtifacts {
			return gateDisabled(ref.Kind, key)
		}
		if err := chartarchive.CheckPattern(ref.GetValuesKey()); err != nil {
			return unsupported("spec.valuesFrom[%d].valuesKey: %s", i, err)
		}
		if ref.TargetPath != "" && strings.ContainsAny(ref.ValuesKey, "*?") {
			return unsupported("spec.valuesFrom[%d]: targetPath must not be set if valuesKey matches several files", i)
		}
	}
	return nil
}

// fileReferences returns a reference for each file of an entry of spec.valuesFrom, and adds them to
// want. It leaves out optional entries whose source or files do not exist.
func (r *Resolver) fileReferences(ctx context.Context, hr *helmv2.HelmRelease, ref reference, want *Want) ([]reference, error) {
	key := types.NamespacedName{Namespace: ref.namespace, Name: ref.Name}
	if root, is := r.checkouts[key]; is {
		return r.checkedOut(ctx, ref, root, want)
	}
	obj, err := r.fileSource(ctx, ref.Kind, key)
	if apierrors.IsNotFound(err) && ref.Optional {
		want.Files = append(want.Files, usedFiles(ref, key, "", nil))
		return nil, nil
	}
	if err != nil {
		return nil, sourceUnreadable(ref.Kind, key, err)
	}
	src, err := fileArtifact(obj, hr)
	if err != nil {
		return nil, err
	}
	if r.charts == nil {
		return nil, ref.unresolved(errors.New("files of sources cannot be read here"))
	}
	ref.revision = src.revision
	pattern := ref.GetValuesKey()
	patterns := append([]string{pattern}, r.patterns(ctx, ref.Kind, key)...)
	var found chart.Files
	if r.clock != nil {
		found, err = r.loadInTime(ctx, src.artifact, patterns)
	} else {
		found, err = r.charts.Select(ctx, src.artifact, patterns, fmt.Sprintf("%s/%s/%s", waiterKey(hr), ref.Kind, key))
	}
	switch {
	case err != nil:
		return nil, filesBlocked(err)
	case found.Refused != "":
		return nil, ref.unresolved(errors.New(found.Refused))
	}
	return ref.files(found.Files, want)
}

// ErrNotInTime is the cause of errors for artifacts that were not downloaded in time.
var ErrNotInTime = errors.New("it was not downloaded in time")

// loadInTime returns files of an artifact. Its download has half of the time until the deadline of ctx.
func (r *Resolver) loadInTime(ctx context.Context, a chart.Artifact, patterns []string) (chart.Files, error) {
	if deadline, limited := ctx.Deadline(); limited {
		const part = 2
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, deadline.Sub(r.clock())/part, ErrNotInTime)
		defer cancel()
	}
	return r.charts.LoadFiles(ctx, a, patterns)
}

// files returns a reference for each of the files, and adds them to want.
func (ref reference) files(files []remote.File, want *Want) ([]reference, error) {
	if len(files) == 0 && !ref.Optional {
		return nil, ref.unresolved(errNoFile)
	}
	key := types.NamespacedName{Namespace: ref.namespace, Name: ref.Name}
	want.Files = append(want.Files, usedFiles(ref, key, ref.revision, files))
	refs := make([]reference, 0, len(files))
	for _, file := range files {
		ref.ValuesKey, ref.content = file.Path, string(file.Data)
		refs = append(refs, ref)
	}
	return refs, nil
}

var errNoFile = errors.New("the artifact has no such file")

// fileSource reads a source of values.
func (r *Resolver) fileSource(ctx context.Context, kind string, key types.NamespacedName) (client.Object, error) {
	row, _ := SourceKindOf(kind)
	obj, reader := row.New(), r.files
	if r.settings.DirectSources && r.clock == nil {
		reader = r.live
	}
	return obj, reader.Get(ctx, key, obj)
}

// fileArtifact returns the artifact of a source of values, or a *release.Blocked if it is not ready.
func fileArtifact(obj client.Object, hr *helmv2.HelmRelease) (source, error) {
	src, err := readSource(obj)
	if err != nil {
		return src, err
	}
	if o, is := obj.(*sourcev1.ExternalArtifact); is && archive.Is(o.Status.Artifact.URL) {
		// The controller reads it with its own rights.
		return src, accessDenied("%s is the archive of a HelmChart of k3s, which has no values", SourceName(o))
	}
	src.artifact.Tenant = hr.Namespace
	return src, nil
}

// filesBlocked returns downloadBlocked for an artifact with values.
func filesBlocked(err error) error {
	b := downloadBlocked(err)
	if _, pending := errors.AsType[*chart.Pending](err); !pending && !errors.Is(err, chart.ErrNotFound) {
		b.Message = "Could not load values: " + err.Error()
	}
	return b
}

// usedFiles returns the record of files.
func usedFiles(ref reference, key types.NamespacedName, revision string, files []remote.File) UsedFiles {
	digester := digest.SHA256.Digester()
	for _, f := range files {
		_, _ = fmt.Fprintf(digester.Hash(), "%q %s\n", f.Path, digest.FromBytes(f.Data))
	}
	return UsedFiles{Kind: ref.Kind, Key: key, Pattern: ref.GetValuesKey(), Revision: revision, Digest: digester.Digest().String()}
}

// LoadFiles returns the records of the files that a HelmRelease would use of a source. Files that are
// refused have the reason in place of a digest. It waits for the download, whose failure is the error.
func (r *Resolver) LoadFiles(ctx context.Context, hr *helmv2.HelmRelease, obj client.Object) ([]UsedFiles, error) {
	src, err := fileArtifact(obj, hr)
	if err != nil {
		return nil, err
	}
	of := FileSource{KindOf(obj), client.ObjectKeyFromObject(obj)}
	var all []UsedFiles
	for _, pattern := range FilePatterns(hr, of) {
		found, err := r.charts.LoadFiles(ctx, src.artifact, append([]string{pattern}, r.patterns(ctx, of.Kind, of.Key)...))
		if err != nil {
			return nil, err
		}
		ref := reference{ValuesReference: helmv2.ValuesReference{Kind: of.Kind, ValuesKey: pattern}}
		used := usedFiles(ref, of.Key, src.revision, found.Files)
		if found.Refused != "" {
			used.Digest = found.Refused
		}
		all = append(all, used)
	}
	return all, nil
}

// withFiles returns the revision of the source of the chart with the sources of values, their revisions,
// and what is used of them. It leaves out what would make it too long.
func withFiles(revision string, files []UsedFiles) string {
	all := revision
	for _, f := range files {
		if f.Revision == "" {
			continue
		}
		text := fmt.Sprintf("values %s/%s %s (%s %s)", f.Kind, f.Key, f.Revision, path.Clean(f.Pattern), shortDigest(f.Digest))
		if all != "" {
			text = "; " + text
		}
		if len(all)+len(text) > maxFilesRevision {
			break
		}
		all += text
	}
	return all
}

// shortDigest returns the first digits of a digest.
func shortDigest(d string) string {
	const digits = 12
	algorithm, hex, _ := strings.Cut(d, ":")
	return algorithm + ":" + hex[:min(len(hex), digits)]
}
