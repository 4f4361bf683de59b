// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// buildImage writes the archive of an image.
func (s source) buildImage(archive string) error {
	scratch, err := os.MkdirTemp("", "pintle-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	built, err := s.build(scratch, map[string]string{controller: "."})
	if err != nil {
		return err
	}
	index, err := s.image(built)
	if err != nil {
		return err
	}
	return s.writeImage(index, archive)
}

// image returns an index with one image of the controller for each architecture. There is no base
// image.
func (s source) image(built []executable) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, e := range built {
		if e.name != controller {
			continue
		}
		image, err := s.imageOf(e)
		if err != nil {
			return nil, err
		}
		platform := &v1.Platform{OS: "linux", Architecture: e.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	annotated, is := mutate.Annotations(index, s.labels()).(v1.ImageIndex)
	if !is {
		return nil, fmt.Errorf("annotations make an index a %T", index)
	}
	return annotated, nil
}

// imageOf returns the image for one architecture: the executable, CA certificates, and a folder for
// temporary files, where the manifests mount a writable volume.
func (s source) imageOf(e executable) (v1.Image, error) {
	executable, err := os.ReadFile(e.path)
	if err != nil {
		return nil, err
	}
	layer, err := compress([]entry{
		{"manager", 0o755, executable},
		{"tmp/", 0o1777, nil},
		{"etc/", 0o755, nil},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
	}, s.time)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: e.arch, OS: "linux", Created: v1.Time{Time: s.time},
		// The user is a number, so that the kubelet can check that it is not root.
		Config: v1.Config{User: "65532:65532", Entrypoint: []string{"/manager"}, Labels: s.labels()},
	})
	if err != nil {
		return nil, err
	}
	rootfs, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer:   rootfs,
		History: v1.History{Created: v1.Time{Time: s.time}, CreatedBy: "hack/release"},
	})
}

// labels are the labels of the images and the annotations of their index.
func (s source) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": "pintle", prefix + "licenses": "Apache-2.0", prefix + "source": repository,
		prefix + "version": s.version, prefix + "revision": s.revision,
	}
}

// certificates returns Mozilla's root certificates, from a module, so that they do not depend on the
// machine. A root whose use is restricted by more than X.509 can say is left out.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return all.Bytes()
}

// writeImage writes an index as an archive in the layout of OCI, which containerd, skopeo and crane
// read.
func (s source) writeImage(index v1.ImageIndex, path string) error {
	tag, err := name.NewTag("pintle:" + s.version)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pintle-layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	_, err = layout.Write(folder, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		Annotations: map[string]string{
			"org.opencontainers.image.ref.name": s.version,
			// The name under which containerd stores the image, and under which the kubelet looks for
			// pintle:<version>. Both leave out the first label of the host.
			"io.containerd.image.name": strings.TrimPrefix(tag.Name(), "index."),
		},
	}}))
	if err != nil {
		return err
	}
	paths := map[string]string{}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		paths[filepath.ToSlash(name)] = path
		return err
	})
	if err != nil {
		return err
	}
	entries, err := readEntries(paths)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := writeTar(&archive, entries, s.time); err != nil {
		return err
	}
	return os.WriteFile(path, archive.Bytes(), 0o644)
}

// pushImage pushes the index in an archive to a registry, with the credentials that `docker login`
// stores.
func pushImage(archive, reference string) error {
	to, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pintle-layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	index, err := readImage(archive, folder)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "pushed %s with the digest %s\n", reference, digest)
	return nil
}

// readImage unpacks an archive into a folder, and returns the index in it.
func readImage(archive, folder string) (v1.ImageIndex, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	entries, err := readTar(file)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(folder, filepath.FromSlash(e.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, e.content, 0o644)); err != nil {
			return nil, err
		}
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d images, want 1", archive, len(manifest.Manifests))
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}
