// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// notAsked says why the revision of a source's artifact is not what its spec asks
// for; empty if it is, or cannot be told. A source that fails to fetch what is asked
// for keeps what it had and observes its generation all the same, so that a chart
// asked for long ago would run with the values of today.
func notAsked(obj client.Object, revision string) string {
	switch o := obj.(type) {
	case *sourcev1.HelmChart:
		if o.Spec.SourceRef.Kind == sourcev1.HelmRepositoryKind {
			return outside(o.Spec.Version, revision)
		}
	case *sourcev1.OCIRepository:
		ref := o.Spec.Reference
		tag, digest, tagged := strings.Cut(revision, "@")
		if !tagged {
			tag, digest = "", revision
		}
		switch {
		case ref == nil:
		case ref.Digest != "":
			if digest != ref.Digest {
				return fmt.Sprintf("its artifact has the digest %s, and %s is asked for", digest, ref.Digest)
			}
		case !tagged:
		case ref.SemVer != "":
			return outside(ref.SemVer, tag)
		case ref.Tag != "" && tag != ref.Tag:
			return fmt.Sprintf("its artifact has the tag %s, and %s is asked for", tag, ref.Tag)
		}
	}
	return ""
}

// outside says that a version does not satisfy a constraint; empty if it does, or
// either is something else.
func outside(constraint, version string) string {
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
	return fmt.Sprintf("its artifact has version %s, and %s is asked for", version, constraint)
}
