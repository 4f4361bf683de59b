// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/rollout"
)

// sourceRetry is the time until a source that is not ready is read again. Usually a watch triggers
// a reconciliation before; sourceRetry covers events that a watch has missed.
const sourceRetry = 30 * time.Second

// source is a ready source.
type source struct {
	artifact chart.Artifact
	revision string
	// origin is the revision of the object that the chart was made from. It differs from revision
	// if a HelmChart packages the chart in a repository of files.
	origin string
	// digested is true if the revision contains the digest of an OCI artifact, which then becomes
	// part of the chart's version.
	digested bool
	// refusal refuses the chart for changes only; nil if it is not refused.
	refusal *policy.Refusal
}

// SourceKind describes one kind of object that provides charts, or files with values.
type SourceKind struct {
	Name string
	// New returns an empty object of the kind.
	New func() client.Object
	// FromSpec is true if the artifact follows from the spec of the object.
	FromSpec bool
	// Gated is true if only feature gate ExternalArtifact permits the kind. Its CRD may not exist.
	Gated bool
	// FilesOnly is true if the kind provides values, and no charts.
	FilesOnly bool
	// status returns the state of an object; false if the object is of another kind.
	status func(obj client.Object) (sourceStatus, bool)
}

// sourceStatus is the state of a source object.
type sourceStatus struct {
	// observed is the generation that the status describes.
	observed   int64
	conditions []metav1.Condition
	artifact   *fluxmeta.Artifact
	// origin is the revision of the source of a HelmChart; empty for other kinds.
	origin string
	// mismatch returns the reason why a revision does not match the request of the spec. It returns
	// the empty string if it matches, or if that cannot be determined.
	mismatch func(revision string) string
	// digested reports whether a revision contains the digest of an OCI artifact.
	digested func(revision string) bool
	// chart is the name of the chart. Of an OCI artifact it is the end of its URL.
	chart string
}

// SourceKinds returns the table of source kinds. A new kind needs a row here, RBAC rules, and a
// value in the CRD.
func SourceKinds() []SourceKind {
	always := func(string) bool { return true }
	never := func(string) bool { return false }
	return []SourceKind{
		kindOf(SourceKind{Name: helmv2.KindOCIRepository, FromSpec: true}, func(o *sourcev1.OCIRepository) sourceStatus {
			return sourceStatus{
				observed: o.Status.ObservedGeneration, conditions: o.Status.Conditions, artifact: o.Status.Artifact,
				mismatch: func(revision string) string { return referenceMismatch(o.Spec.Reference, revision) },
				digested: always, chart: path.Base(o.Spec.URL),
			}
		}),
		kindOf(SourceKind{Name: helmv2.KindHelmChart, FromSpec: true}, func(o *sourcev1.HelmChart) sourceStatus {
			return sourceStatus{
				observed: o.Status.ObservedGeneration, conditions: o.Status.Conditions, artifact: o.Status.Artifact,
				origin: originOf(o),
				mismatch: func(revision string) string {
					// From other sources spec.version is ignored.
					if o.Spec.SourceRef.Kind != sourcev1.HelmRepositoryKind {
						return ""
					}
					return versionMismatch(o.Spec.Version, revision)
				},
				digested: never, chart: o.Status.ObservedChartName,
			}
		}),
		kindOf(SourceKind{Name: helmv2.KindExternalArtifact, Gated: true}, func(o *sourcev1.ExternalArtifact) sourceStatus {
			return sourceStatus{
				// Its API does not require that a controller observes the generation or sets
				// conditions, so an artifact is sufficient.
				observed: o.Generation, conditions: withoutStalled(o.Status.Conditions), artifact: o.Status.Artifact,
				mismatch: func(string) string { return "" },
				digested: func(revision string) bool { return strings.Contains(revision, ":") }, chart: o.Name,
			}
		}),
		kindOf(SourceKind{Name: helmv2.KindGitRepository, FromSpec: true, FilesOnly: true}, func(o *sourcev1.GitRepository) sourceStatus {
			return sourceStatus{
				observed: o.Status.ObservedGeneration, conditions: o.Status.Conditions, artifact: o.Status.Artifact,
				mismatch: func(revision string) string { return gitMismatch(o.Spec.Reference, revision) },
				digested: never,
			}
		}),
		kindOf(SourceKind{Name: helmv2.KindBucket, FromSpec: true, FilesOnly: true}, func(o *sourcev1.Bucket) sourceStatus {
			return sourceStatus{
				observed: o.Status.ObservedGeneration, conditions: o.Status.Conditions, artifact: o.Status.Artifact,
				mismatch: func(string) string { return "" },
				digested: never,
			}
		}),
	}
}

// originOf returns the revision of the repository of files that a HelmChart packages. A
// HelmRepository has the digest of an index there, which is less specific than the version of the
// chart.
func originOf(o *sourcev1.HelmChart) string {
	if o.Spec.SourceRef.Kind == sourcev1.HelmRepositoryKind {
		return ""
	}
	return o.Status.ObservedSourceArtifactRevision
}

// kindOf completes a row of the table for objects of type *T.
func kindOf[T any, P interface {
	*T
	client.Object
}](kind SourceKind, status func(P) sourceStatus) SourceKind {
	kind.New = func() client.Object { return P(new(T)) }
	kind.status = func(obj client.Object) (sourceStatus, bool) {
		o, ok := obj.(P)
		if !ok {
			return sourceStatus{}, false
		}
		return status(o), true
	}
	return kind
}

// SourceKindOf returns the row of a kind; false if the kind is no source.
func SourceKindOf(name string) (SourceKind, bool) {
	kinds := SourceKinds()
	i := slices.IndexFunc(kinds, func(k SourceKind) bool { return k.Name == name })
	if i < 0 {
		return SourceKind{}, false
	}
	return kinds[i], true
}

// readSource returns the artifact of a source object, or a *release.Blocked if it is not ready. A
// source whose last fetch failed is ready if it still has an artifact that its spec requests.
func readSource(obj client.Object) (source, error) {
	for _, k := range SourceKinds() {
		if status, ok := k.status(obj); ok {
			if why, ready := status.ready(obj.GetGeneration()); !ready {
				return source{}, &release.Blocked{
					Reason: helmv2.ReasonSourceNotReady, Quiet: true, Failing: status.failed(obj.GetGeneration()), Retry: release.Interval(sourceRetry),
					Message: fmt.Sprintf("%s '%s' is not ready: %s", k.Name, client.ObjectKeyFromObject(obj), why),
				}
			}
			a := status.artifact
			return source{
				artifact: artifactOf(a), revision: a.Revision, digested: status.digested(a.Revision),
				origin: cmp.Or(status.origin, a.Revision),
			}, nil
		}
	}
	return source{}, unsupported("%T is not supported as a source by this version", obj)
}

// ChartOf returns the chart of a source; false if the source is not ready, or its status does not name
// the chart.
func ChartOf(obj client.Object) (rollout.Input, bool) {
	for _, k := range SourceKinds() {
		s, ok := k.status(obj)
		if !ok {
			continue
		}
		if _, ready := s.ready(obj.GetGeneration()); !ready {
			return rollout.Input{}, false
		}
		revision := s.artifact.Revision
		if !s.digested(revision) {
			return rollout.Input{Name: s.chart, Version: revision}, s.chart != "" && !k.Gated
		}
		tag, digest, tagged := strings.Cut(revision, "@")
		if !tagged {
			tag, digest = "", revision
		}
		return rollout.Input{Digest: digest, Name: s.chart, Version: tag}, true
	}
	return rollout.Input{}, false
}

// fetchOf identifies what a source fetches: other sources with an equal one fetch the same charts, each at
// its own time. It is empty if that is not known.
func fetchOf(obj client.Object) string {
	switch o := obj.(type) {
	case *sourcev1.HelmChart:
		s := &o.Spec
		return fmt.Sprintf("%s %s/%s/%s %q %q %s", helmv2.KindHelmChart, s.SourceRef.Kind, o.Namespace, s.SourceRef.Name, s.Chart, s.Version, s.ReconcileStrategy)
	case *sourcev1.OCIRepository:
		ref := cmp.Or(o.Spec.Reference, &sourcev1.OCIRepositoryRef{})
		return fmt.Sprintf("%s %q %q %q %q %q", helmv2.KindOCIRepository, o.Spec.URL, ref.Tag, ref.SemVer, ref.SemverFilter, ref.Digest)
	}
	return ""
}

// artifactOf returns an artifact. An archive of a HelmChart of k3s is named as users know it.
func artifactOf(a *fluxmeta.Artifact) chart.Artifact {
	artifact := chart.Artifact{URL: a.URL, Digest: a.Digest}
	if at, is := archive.Locate(a.URL); is {
		artifact.Origin = at.String()
	}
	return artifact
}

// ready reports whether a source of the given generation is ready. If it is not, why is the reason,
// which is empty if a condition has no message. The message of a Ready condition that is false
// replaces all other reasons.
func (s sourceStatus) ready(generation int64) (why string, ready bool) {
	stalled := apimeta.FindStatusCondition(s.conditions, helmv2.ConditionStalled)
	switch {
	case s.observed != generation:
		why = "latest generation of object has not been reconciled"
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		why = stalled.Message
	case s.artifact == nil:
		why = "does not have an artifact"
	default:
		if why = s.mismatch(s.artifact.Revision); why == "" {
			return "", true
		}
	}
	if c := apimeta.FindStatusCondition(s.conditions, helmv2.ConditionReady); c != nil && c.Status == metav1.ConditionFalse {
		why = c.Message
	}
	return why, false
}

// failed reports whether a source of the given generation could not be fetched.
func (s sourceStatus) failed(generation int64) bool {
	return s.observed == generation &&
		(apimeta.IsStatusConditionFalse(s.conditions, helmv2.ConditionReady) || apimeta.IsStatusConditionTrue(s.conditions, helmv2.ConditionStalled))
}

func withoutStalled(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == helmv2.ConditionStalled })
}

// A source that fails to fetch a revision keeps its previous artifact, but observes its
// generation. Without the following checks a HelmRelease would combine an old chart with new
// values.

// referenceMismatch returns the reason why the revision of an OCI artifact does not match a
// reference, empty if it does.
func referenceMismatch(ref *sourcev1.OCIRepositoryRef, revision string) string {
	tag, digest, tagged := strings.Cut(revision, "@")
	if !tagged {
		tag, digest = "", revision
	}
	switch {
	case ref == nil:
	case ref.Digest != "":
		if digest != ref.Digest {
			return fmt.Sprintf("its artifact has the digest %s, but %s is requested", digest, ref.Digest)
		}
	case !tagged:
	case ref.SemVer != "":
		return versionMismatch(ref.SemVer, tag)
	case ref.Tag != "" && tag != ref.Tag:
		return fmt.Sprintf("its artifact has the tag %s, but %s is requested", tag, ref.Tag)
	}
	return ""
}

// gitMismatch returns the reason why the revision of a GitRepository does not match a reference, empty
// if it does. The fields have the order of source-controller.
func gitMismatch(ref *sourcev1.GitRepositoryRef, revision string) string {
	name, commit, named := strings.Cut(revision, "@")
	if !named {
		name, commit = "", revision
	}
	switch {
	case ref == nil:
	case ref.Commit != "":
		if !strings.HasSuffix(commit, ":"+ref.Commit) {
			return fmt.Sprintf("its artifact has the commit %s, but %s is requested", commit, ref.Commit)
		}
	case ref.Name != "" || !named:
	case ref.SemVer != "":
		return versionMismatch(ref.SemVer, name)
	case ref.Tag != "" && name != ref.Tag:
		return fmt.Sprintf("its artifact has the tag %s, but %s is requested", name, ref.Tag)
	case ref.Tag == "" && ref.Branch != "" && name != ref.Branch:
		return fmt.Sprintf("its artifact has the branch %s, but %s is requested", name, ref.Branch)
	}
	return ""
}

// versionMismatch returns the reason why a version does not satisfy a constraint. It returns the
// empty string if it does, and if either is not valid.
func versionMismatch(constraint, version string) string {
	if constraint == "" {
		return ""
	}
	wanted, err := semver.NewConstraint(constraint)
	if err != nil {
		return ""
	}
	have, err := semver.NewVersion(version)
	if err != nil || wanted.Check(have) {
		return ""
	}
	return fmt.Sprintf("its artifact has version %s, but %s is requested", version, constraint)
}
