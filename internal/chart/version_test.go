// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const revisionDigest = "sha256:9933f58f8bf459eb199d59ebc8a05683f3944e1242d9f5467d99aa2cf08a5370"

// TestEffectiveVersion: the digest of a revision becomes build metadata.
func TestEffectiveVersion(t *testing.T) {
	t.Parallel()
	type want struct{ Version, Digest, Err string }
	cases := map[string]struct {
		reason            string
		version, revision string
		want              want
	}{
		"TagAndDigest": {
			reason:  "the start of the digest becomes build metadata, and the digest alone is recorded",
			version: "1.2.3", revision: "1.2.3@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"UnderscoreInTag": {
			reason:  "a tag has an underscore in place of a plus",
			version: "1.2.3+build.7", revision: "1.2.3_build.7@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"MetadataIsReplaced": {
			reason:  "the digest replaces existing metadata",
			version: "1.2.3+old", revision: "1.2.3@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"MetadataDoesNotMatter": {
			reason:  "versions that differ in metadata only are the same version",
			version: "1.2.3+old", revision: "1.2.3_new@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"PrefixInTag": {
			reason:  "a prefix v in a tag is ignored",
			version: "1.2.3", revision: "v1.2.3@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"PrefixInChart": {
			reason:  "the v of a chart's version is dropped",
			version: "v1.2.3", revision: "1.2.3@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"Prerelease": {
			reason:  "a pre-release stays one",
			version: "1.2.3-rc.1", revision: "1.2.3-rc.1@" + revisionDigest,
			want: want{Version: "1.2.3-rc.1+9933f58f8bf4", Digest: revisionDigest},
		},
		"PrereleaseMismatch": {
			reason:  "a pre-release is another version",
			version: "1.2.3", revision: "1.2.3-rc.1@" + revisionDigest,
			want: want{Err: "artifact revision 1.2.3-rc.1 does not match chart version 1.2.3"},
		},
		"OtherTag": {
			reason:  "a tag that is not a version is not compared, and the whole revision is recorded",
			version: "1.2.3", revision: "latest@" + revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: "latest@" + revisionDigest},
		},
		"BareDigest": {
			reason:  "an artifact without a tag is known by its digest",
			version: "1.2.3", revision: revisionDigest,
			want: want{Version: "1.2.3+9933f58f8bf4", Digest: revisionDigest},
		},
		"OtherAlgorithm": {
			reason:  "the digest may have any algorithm",
			version: "1.2.3", revision: "1.2.3@sha512:0123456789abcdef",
			want: want{Version: "1.2.3+0123456789ab", Digest: "sha512:0123456789abcdef"},
		},
		"TwelveCharacters": {
			reason:  "twelve characters of a digest are enough",
			version: "1.2.3", revision: "1.2.3@sha256:0123456789ab",
			want: want{Version: "1.2.3+0123456789ab", Digest: "sha256:0123456789ab"},
		},
		"Mismatch": {
			reason:  "a tag of another version is rejected",
			version: "1.2.3", revision: "1.2.4@" + revisionDigest,
			want: want{Err: "artifact revision 1.2.4 does not match chart version 1.2.3"},
		},
		"InvalidVersion": {
			reason:  "the version of a chart has to be valid",
			version: "one", revision: "1.2.3@" + revisionDigest,
			want: want{Err: "invalid chart version one"},
		},
		"NoVersion": {
			reason:   "an empty version is invalid",
			revision: "1.2.3@" + revisionDigest,
			want:     want{Err: "invalid chart version "},
		},
		"NoRevision": {
			reason:  "an empty revision is invalid",
			version: "1.2.3",
			want:    want{Err: "invalid artifact revision "},
		},
		"TagOnly": {
			reason:  "a revision without a digest is invalid",
			version: "1.2.3", revision: "1.2.3",
			want: want{Err: "invalid artifact revision 1.2.3"},
		},
		"EmptyDigest": {
			reason:  "an empty digest is invalid",
			version: "1.2.3", revision: "1.2.3@",
			want: want{Err: "invalid artifact revision 1.2.3@"},
		},
		"ShortDigest": {
			reason:  "eleven characters are too few",
			version: "1.2.3", revision: "1.2.3@sha256:0123456789a",
			want: want{Err: "invalid artifact revision 1.2.3@sha256:0123456789a"},
		},
		"TwoColons": {
			reason:  "a digest has two parts",
			version: "1.2.3", revision: "latest@sha256:0123456789ab:ef",
			want: want{Err: "invalid artifact revision latest@sha256:0123456789ab:ef"},
		},
		"NotHex": {
			reason:  "characters that are invalid in build metadata are rejected",
			version: "1.2.3", revision: "latest@sha256:0123456789é!",
			want: want{Err: "invalid artifact revision latest@sha256:0123456789é!"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got want
			var err error
			got.Version, got.Digest, err = EffectiveVersion(tc.version, tc.revision)
			if err != nil {
				got.Err = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: EffectiveVersion(%q, %q) (-want +got):\n%s", tc.reason, tc.version, tc.revision, diff)
			}
		})
	}
}

// FuzzEffectiveVersion: the version of a stored chart is stable.
func FuzzEffectiveVersion(f *testing.F) {
	for _, seed := range [][2]string{
		{"1.2.3", "1.2.3@" + revisionDigest},
		{"v1.2.3+a", "v1.2.3_b@" + revisionDigest},
		{"1.2", revisionDigest},
		{"1.2.3-0", "latest@" + revisionDigest},
		{"", ""},
		{"1.2.3", "@:"},
		{"1.2.3", "@@::"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, version, revision string) {
		effective, ociDigest, err := EffectiveVersion(version, revision)
		if err != nil {
			if effective != "" || ociDigest != "" {
				t.Errorf("an error has results: %q, %q, %v", effective, ociDigest, err)
			}
			return
		}
		// Helm stores the effective version, which must not change when it is computed again.
		again, digest2, err := EffectiveVersion(effective, revision)
		if err != nil || again != effective || digest2 != ociDigest {
			t.Errorf("EffectiveVersion(%q, %q) = %q, %q; from there %q, %q, %v", version, revision, effective, ociDigest, again, digest2, err)
		}
	})
}
