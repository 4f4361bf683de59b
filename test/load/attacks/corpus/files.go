// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"archive/tar"
	"fmt"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// fromFiles makes a release read its values from files in the artifact of its own chart.
func fromFiles(path string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		ref := hr.Spec.ChartRef
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace, ValuesKey: path}}
	}
}

func files() []Attack {
	const path = Chart + "/x.yaml"
	one := func(e entry) func() []byte { return func() []byte { return pack(e) } }
	bad := func(says ...string) Outcome {
		return rejected(helmv2.ReasonValuesError, append([]string{"could not resolve OCIRepository chart values reference"}, says...)...)
	}
	many := func() []byte {
		var all []entry
		for i := range 300 {
			all = append(all, entry{name: fmt.Sprintf("%s/many/%d.yaml", Chart, i)})
		}
		return pack(all...)
	}
	return []Attack{
		{Name: "files/bomb", Archive: zeros(128, 4<<20), Edit: fromFiles(path), Outcome: unusable("Could not load values", unpacked)},
		{Name: "files/many-entries", Archive: manyFiles, Edit: fromFiles(path), Outcome: unusable("is rejected: it has more than 20000 files")},
		{Name: "files/many", Archive: many, Edit: fromFiles(Chart + "/many/*.yaml"), Outcome: bad("the path matches more than 256 files")},
		{Name: "files/huge", Archive: one(entry{name: path, zeros: 20 << 20}), Edit: fromFiles(path), Outcome: bad(`"evil/x.yaml" has more than 8388608 bytes`)},
		{Name: "files/symbolic-link", Archive: one(entry{name: path, kind: tar.TypeSymlink, link: "/etc/passwd"}), Edit: fromFiles(path), Outcome: bad(`"evil/x.yaml" is a link or special file`)},
		{Name: "files/hard-link", Archive: one(entry{name: path, kind: tar.TypeLink, link: Chart + "/Chart.yaml"}), Edit: fromFiles(Chart + "/*.yaml"), Outcome: bad(`"evil/x.yaml" is a link or special file`)},
		{Name: "files/pipe", Archive: one(entry{name: path, kind: tar.TypeFifo}), Edit: fromFiles(path), Outcome: bad(`"evil/x.yaml" is a link or special file`)},
		{Name: "files/parent", Archive: one(entry{name: Chart + "/../../etc/x", content: "x"}), Edit: fromFiles(path), Outcome: unusable("is outside of the artifact")},
		{Name: "files/absolute", Archive: one(entry{name: "/etc/passwd", content: "x"}), Edit: fromFiles(path), Outcome: unusable("/etc/passwd", "is an absolute path")},
		{Name: "files/leaving-path", Edit: fromFiles("../../etc/passwd"), Outcome: rejected(helmv2.ReasonUnsupportedField, "the path leaves the artifact")},
		{Name: "files/absolute-path", Edit: fromFiles("/etc/passwd"), Outcome: rejected(helmv2.ReasonUnsupportedField, "the path is absolute")},
		{Name: "files/random", Archive: func() []byte { return []byte(strings.Repeat("random", 1000)) }, Edit: fromFiles(path), Outcome: unusable("it is not compressed with gzip")},
		{Name: "files/aliases", Worst: true, Archive: file("x.yaml", laughs()), Edit: fromFiles(path), Outcome: bad("the content has more than 500000 keys and values " + expansion)},
		{Name: "files/deep", Archive: file("x.yaml", nested(9000)), Edit: fromFiles(path), Outcome: bad("nested deeper than 100 levels")},
		{Name: "files/deep-flow", Archive: file("x.yaml", strings.Repeat("[", 500_000)), Edit: fromFiles(path), Outcome: bad("the content cannot be read as YAML")},
		{Name: "files/deep-sops", Archive: file("x.yaml", "mac: 1\nsops: "+strings.Repeat("[", 500_000)), Edit: fromFiles(path), Outcome: bad("the content cannot be read as YAML")},
		{Name: "files/encrypted", Archive: file("x.yaml", "a: ENC[AES256_GCM,data:eA==]\nsops: {mac: x, version: 3.9.0}\n"), Edit: fromFiles(path), Outcome: bad(`"evil/x.yaml" is encrypted with SOPS`)},
	}
}
