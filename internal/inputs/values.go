// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// ValuesFrom returns the names of the objects of a kind that spec.valuesFrom refers to, in the
// order of the spec.
func ValuesFrom(hr *helmv2.HelmRelease, kind string) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, ref := range hr.Spec.ValuesFrom {
		if ref.Kind == kind {
			keys = append(keys, types.NamespacedName{Namespace: hr.Namespace, Name: ref.Name})
		}
	}
	return keys
}

// Values returns the values of a HelmRelease without the defaults of its chart, their layers, and the
// texts in them that come from Secrets. The other fields of the result are zero. Sources that settings
// reject are errors, as they are of Resolve.
func (r *Resolver) Values(ctx context.Context, hr *helmv2.HelmRelease) (Want, error) {
	var want Want
	if err := r.checkFiles(hr); err != nil {
		return want, err
	}
	err := r.values(ctx, hr, &want)
	return want, err
}

// values sets the values in want, their digest, and the texts in them that come from Secrets.
// Errors are *release.Blocked, or *Refused.
func (r *Resolver) values(ctx context.Context, hr *helmv2.HelmRelease, want *Want) error {
	var raw []byte
	if hr.Spec.Values != nil {
		raw = hr.Spec.Values.Raw
	}
	v, err := values.Parse(raw)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonValuesError, err, "spec.values cannot be read")
	}
	if err := r.admitSources(ctx, hr, v); err != nil {
		return err
	}
	want.Layers = func() []plan.Layer { return layers(nil, raw) }
	inline, refs := v, []reference(nil)
	if len(hr.Spec.ValuesFrom) > 0 {
		if refs, err = r.references(ctx, hr, want); err != nil {
			return err
		}
		var read documents
		if v, err = compose(refs, inline, &read); err != nil {
			return err
		}
		want.Secrets = secrets(refs)
		want.Layers = func() []plan.Layer { return layers(refs, raw) }
		want.Contents = func() []release.ValuesContent { return contents(hr, refs, want.Files) }
	}
	if err := r.admitValues(ctx, hr, inline, refs); err != nil {
		return err
	}
	sum, err := values.Digest(v)
	if err != nil {
		// The cause may quote a Secret.
		return &release.Blocked{
			Reason: helmv2.ReasonValuesError, Retry: release.Backoff(), Message: "the digest of the values cannot be computed",
		}
	}
	want.Values, want.ConfigDigest = v, sum
	return nil
}

// reference is an entry of spec.valuesFrom with its content. An entry that matches several files is one
// reference for each, whose ValuesKey is the path.
type reference struct {
	helmv2.ValuesReference
	namespace string
	// index is the index of the entry.
	index int
	// revision is the revision of a source; empty for ConfigMaps and Secrets.
	revision string
	content  string
}

// documents holds the parsed contents of references, each parsed once. The zero value is empty. It
// is not safe for concurrent use.
type documents struct {
	budget values.Budget
	parsed map[string]document
}

type document struct {
	values map[string]any
	err    error
}

// of returns the values in a content. They must not be changed.
func (d *documents) of(content string) (map[string]any, error) {
	known, ok := d.parsed[content]
	if !ok {
		known.values, known.err = d.budget.ParseMap([]byte(content))
		if d.parsed == nil {
			d.parsed = map[string]document{}
		}
		d.parsed[content] = known
	}
	return known.values, known.err
}

// compose merges the values of a release. References without a target path come first, then the
// inline values, then references with a target path: an explicit path has precedence. It does not
// change inline.
func compose(refs []reference, inline map[string]any, read *documents) (map[string]any, error) {
	composed := map[string]any{}
	// The same content has no effect before its last reference.
	last := map[string]int{}
	for i, ref := range refs {
		if ref.TargetPath != "" {
			continue
		}
		if _, err := read.of(ref.content); err != nil {
			return nil, ref.unresolved(err)
		}
		last[ref.content] = i
	}
	for i, ref := range refs {
		if ref.TargetPath == "" && last[ref.content] == i {
			parsed, _ := read.of(ref.content)
			values.Merge(composed, parsed)
		}
	}
	values.Merge(composed, inline)
	for _, ref := range refs {
		if ref.TargetPath == "" {
			continue
		}
		if err := ref.setPath(composed, &read.budget); err != nil {
			return nil, ref.unresolved(err)
		}
	}
	return composed, nil
}

// layers returns the layers of composed values in the order in which compose merges them.
func layers(refs []reference, inline []byte) []plan.Layer {
	var whole, paths []plan.Layer
	var read documents
	for _, ref := range refs {
		l := plan.Layer{Name: ref.Kind + "/" + ref.Name, File: ref.GetValuesKey()}
		if ref.TargetPath == "" {
			// Content that cannot be parsed has not been composed.
			l.Values, _ = read.of(ref.content)
			lines := sync.OnceValue(func() bounded.Lines { return bounded.Values().LinesOf([]byte(ref.content)) })
			l.Lines = func(path []string) int { return lines().Of(path) }
			whole = append(whole, l)
			continue
		}
		l.Values = map[string]any{}
		if ref.setPath(l.Values, &read.budget) == nil {
			paths = append(paths, l)
		}
	}
	values, _ := values.Parse(inline)
	return slices.Concat(whole, []plan.Layer{{Name: plan.LayerInline, Values: values}}, paths)
}

// ValuesObjects returns the objects with keys, and the sources with paths, that spec.valuesFrom refers to:
// release.ValuesContent.Object, in the order of the spec.
func ValuesObjects(hr *helmv2.HelmRelease) []string {
	all := make([]string, len(hr.Spec.ValuesFrom))
	for i, ref := range hr.Spec.ValuesFrom {
		all[i] = fmt.Sprintf("%s/%s/%s:%s", ref.Kind, ref.GetNamespace(hr.Namespace), ref.Name, ref.GetValuesKey())
	}
	return all
}

// contents returns the contents of all entries of spec.valuesFrom. An optional entry that does not exist has
// no digest.
func contents(hr *helmv2.HelmRelease, refs []reference, files []UsedFiles) []release.ValuesContent {
	objects := ValuesObjects(hr)
	all := make([]release.ValuesContent, len(objects))
	for i, object := range objects {
		all[i].Object = object
		if hr.Spec.ValuesFrom[i].IsFile() {
			if len(files) > 0 {
				all[i].Digest, files = files[0].Digest, files[1:]
			}
			continue
		}
		if found := slices.IndexFunc(refs, func(r reference) bool { return r.index == i }); found >= 0 {
			all[i].Digest = digest.FromString(refs[found].content).String()
		}
	}
	return all
}

// setPath sets the value at the target path of the reference.
func (ref reference) setPath(composed map[string]any, budget *values.Budget) error {
	if ref.Literal {
		return budget.SetLiteral(composed, ref.TargetPath, ref.content)
	}
	return budget.SetPath(composed, ref.TargetPath, ref.content)
}

var (
	errNoObject = errors.New("the object does not exist")
	errNoKey    = errors.New("the object has no such key")
)

// maxReferenced limits the size of all objects that the values of one release come from. Sixteen
// objects of the largest size reach it.
const maxReferenced = 16 << 20

var errTooMuch = bounded.Exceeded("the objects of spec.valuesFrom have more than %d bytes", maxReferenced)

// references returns the entries of spec.valuesFrom with their content. It reads each object once.
// It leaves out optional references whose object, key or file does not exist, and adds the files of
// sources to want.
func (r *Resolver) references(ctx context.Context, hr *helmv2.HelmRelease, want *Want) ([]reference, error) {
	type object struct{ kind, name string }
	read := map[object]map[string]string{}
	size := 0
	refs := make([]reference, 0, len(hr.Spec.ValuesFrom))
	for i, spec := range hr.Spec.ValuesFrom {
		ref := reference{ValuesReference: spec, namespace: spec.GetNamespace(hr.Namespace), index: i}
		if spec.IsFile() {
			files, err := r.fileReferences(ctx, hr, ref, want)
			if err != nil && r.leaveOut != nil && r.leaveOut(FileSource{ref.Kind, types.NamespacedName{Namespace: ref.namespace, Name: ref.Name}}, err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				size += len(file.ValuesKey) + len(file.content)
			}
			if size > maxReferenced {
				return nil, ref.unresolved(errTooMuch)
			}
			refs = append(refs, files...)
			continue
		}
		data, known := read[object{ref.Kind, ref.Name}]
		if !known {
			var err error
			if data, err = r.data(ctx, ref); err != nil {
				return nil, ref.unresolved(err)
			}
			for key, content := range data {
				size += len(key) + len(content)
			}
			if size > maxReferenced {
				return nil, ref.unresolved(errTooMuch)
			}
			read[object{ref.Kind, ref.Name}] = data
		}
		var found bool
		ref.content, found = data[ref.GetValuesKey()]
		switch {
		case found:
			refs = append(refs, ref)
		case ref.Optional:
		case data == nil:
			return nil, ref.unresolved(errNoObject)
		default:
			return nil, ref.unresolved(errNoKey)
		}
	}
	return refs, nil
}

// data reads the object of a reference and returns its data, nil if the object does not exist.
func (r *Resolver) data(ctx context.Context, ref reference) (map[string]string, error) {
	key := types.NamespacedName{Namespace: ref.namespace, Name: ref.Name}
	data := map[string]string{}
	var err error
	switch ref.Kind {
	case helmv2.KindConfigMap:
		var o corev1.ConfigMap
		err = r.live.Get(ctx, key, &o)
		for k, v := range o.Data {
			data[k] = v
		}
	case helmv2.KindSecret:
		var o corev1.Secret
		err = r.live.Get(ctx, key, &o)
		for k, v := range o.Data {
			data[k] = string(v)
		}
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return data, nil
}

// unresolved returns a *release.Blocked for a reference that cannot be used. The cause must not
// quote content.
func (ref reference) unresolved(cause error) error {
	optional := ""
	if ref.Optional {
		optional = "optional "
	}
	revision := ""
	if ref.revision != "" {
		revision = " in revision '" + ref.revision + "'"
	}
	return &release.Blocked{
		Reason: helmv2.ReasonValuesError, Retry: release.Backoff(), Err: cause,
		Message: fmt.Sprintf("could not resolve %s%s chart values reference '%s/%s' with key '%s'%s: %s",
			optional, ref.Kind, ref.namespace, ref.Name, ref.GetValuesKey(), revision, cause),
	}
}
