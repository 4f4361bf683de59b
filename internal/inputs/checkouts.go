// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	chartarchive "github.com/pintle-dev/pintle/internal/chart/archive"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// Checkouts are directories in place of the artifacts of sources of values, and of charts in folders.
type Checkouts map[types.NamespacedName]*os.Root

// checkoutRevision is the revision of a directory.
const checkoutRevision = "local"

var errNotCheckedOut = errors.New("the directory has no such file, or " + sourceignore.IgnoreFile + " or spec.ignore of the source leaves it out")

// checkedOut returns a reference for each file of a directory that an artifact of the source would have.
func (r *Resolver) checkedOut(ctx context.Context, ref reference, root *os.Root, want *Want) ([]reference, error) {
	ref.revision = checkoutRevision
	key := types.NamespacedName{Namespace: ref.namespace, Name: ref.Name}
	ignored, err := r.ignoredIn(ctx, root, ref.Kind, key)
	if err != nil {
		return nil, err
	}
	found, err := chartarchive.SelectIn(root, ignored, []string{ref.GetValuesKey()})
	if err == nil {
		err = found[0].Err
	} else {
		err = fmt.Errorf("%s %w", root.Name(), err)
	}
	if err == nil && len(found[0].Files) == 0 && !ref.Optional {
		err = errNotCheckedOut
	}
	if err != nil {
		return nil, ref.unresolved(err)
	}
	files := make([]remote.File, len(found[0].Files))
	for i, f := range found[0].Files {
		files[i] = remote.File{Path: f.Path, Data: f.Data}
	}
	return ref.files(files, want)
}

// CheckedOutChart is a chart in a directory.
type CheckedOutChart struct {
	Archive       []byte
	Name, Version string
	// Kept is true if source-controller does not package the chart, but keeps the archive that it has:
	// with the strategy ChartVersion, another version is required.
	Kept bool
}

// IsChartSource reports whether a key is of the repository or bucket that spec.chart is in a folder of.
func IsChartSource(hr *helmv2.HelmRelease, key types.NamespacedName) bool {
	if !hr.HasChartTemplate() {
		return false
	}
	kind := hr.Spec.Chart.Spec.SourceRef.Kind
	return (kind == helmv2.KindGitRepository || kind == helmv2.KindBucket) &&
		key == types.NamespacedName{Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: hr.Spec.Chart.Spec.SourceRef.Name}
}

// CheckedOutChart returns the chart of a release that has a directory in place of its source; nil if it has
// none.
func (r *Resolver) CheckedOutChart(ctx context.Context, hr *helmv2.HelmRelease) (*CheckedOutChart, error) {
	for key, root := range r.checkouts {
		if !IsChartSource(hr, key) {
			continue
		}
		spec := hr.Spec.Chart.Spec
		ignored, err := r.ignoredIn(ctx, root, spec.SourceRef.Kind, key)
		if err != nil {
			return nil, err
		}
		defaults, err := chartarchive.MergeIn(root, ignored, spec.ValuesFiles, spec.IgnoreMissingValuesFiles)
		if err != nil {
			return nil, fmt.Errorf("%s %w", root.Name(), err)
		}
		data, c, err := chartarchive.Package(root, ignored, spec.Chart, defaults)
		if err != nil {
			return nil, fmt.Errorf("chart %s in %s %w", spec.Chart, root.Name(), err)
		}
		found := &CheckedOutChart{Archive: data, Name: c.Name(), Version: c.Metadata.Version}
		found.Kept, err = r.keepsChart(ctx, hr, found)
		return found, err
	}
	return nil, nil //nolint:nilnil // see above
}

// keepsChart reports whether source-controller keeps the archive that it has of a chart.
func (r *Resolver) keepsChart(ctx context.Context, hr *helmv2.HelmRelease, c *CheckedOutChart) (bool, error) {
	live := &sourcev1.HelmChart{}
	if err := r.reader.Get(ctx, TemplateKey(hr), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if strategyOf(hr.Spec.Chart.Spec) != helmv2.ReconcileStrategyChartVersion || !HasTemplateChart(live, TemplateSource(hr)) ||
		live.Status.ObservedGeneration != live.Generation || live.Status.Artifact == nil || live.Status.ObservedChartName != c.Name {
		return false, nil
	}
	have, want := live.Status.Artifact.Revision, c.Version
	if len(hr.Spec.Chart.Spec.ValuesFiles) > 0 {
		// The metadata is the generation of the HelmChart.
		have, _, _ = strings.Cut(have, "+")
		want, _, _ = strings.Cut(want, "+")
	}
	return have == want, nil
}

// ignoredIn returns which files of a directory source-controller leaves out of the artifact of a source.
// A source that does not exist has no spec.
func (r *Resolver) ignoredIn(ctx context.Context, root *os.Root, kind string, key types.NamespacedName) (chartarchive.Ignored, error) {
	source, err := r.fileSource(ctx, kind, key)
	if err != nil && !apierrors.IsNotFound(err) && !apimeta.IsNoMatchError(err) {
		return nil, sourceUnreadable(kind, key, err)
	}
	none := func(string, bool) bool { return false }
	var spec *string
	_, isBucket := source.(*sourcev1.Bucket)
	switch o := source.(type) {
	case *sourcev1.GitRepository:
		spec = o.Spec.Ignore
	case *sourcev1.Bucket:
		spec = o.Spec.Ignore
	case *sourcev1.OCIRepository:
		if o.GetLayerOperation() == sourcev1.OCILayerCopy {
			return none, nil
		}
		spec = o.Spec.Ignore
	default:
		return none, nil
	}
	patterns, err := readIgnored(root, !isBucket)
	if err != nil {
		return nil, err
	}
	if spec != nil {
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(*spec), nil)...)
	}
	// The files that are left out by default are left out only if there are no patterns.
	all := sourceignore.NewMatcher(append(sourceignore.VCSPatterns(nil), patterns...))
	switch {
	case isBucket:
		all = sourceignore.NewMatcher(append(patterns, gitignore.ParsePattern("/"+sourceignore.IgnoreFile, nil)))
	case len(patterns) == 0:
		all = sourceignore.NewDefaultMatcher(nil, nil)
	}
	return func(name string, dir bool) bool { return all.Match(strings.Split(name, "/"), dir) }, nil
}

// readIgnored returns the patterns of .sourceignore in a directory and, if nested is true, in all
// directories below it.
func readIgnored(root *os.Root, nested bool) ([]gitignore.Pattern, error) {
	var all []gitignore.Pattern
	err := fs.WalkDir(root.FS(), ".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case entry.Name() == ".git", dir != "." && !nested:
			return fs.SkipDir
		}
		name := path.Join(dir, sourceignore.IgnoreFile)
		switch info, err := root.Stat(name); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return nil
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		var domain []string
		if dir != "." {
			domain = strings.Split(dir, "/")
		}
		all = append(all, sourceignore.ReadPatterns(file, domain)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s in %s cannot be read: %w", sourceignore.IgnoreFile, root.Name(), err)
	}
	return all, nil
}
