// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// The images of a real node. No registry with that name exists, and none is requested.
const (
	// busyboxImage has a shell and the usual small programs.
	busyboxImage = "images.pintle.test/busybox:1"
	// pauseImage is the image that keeps a Pod's namespaces.
	pauseImage = "images.pintle.test/pause:1"
)

// writeImages makes an OCI layout, as an archive, of this machine's busybox.
func writeImages(path string) error {
	busybox, err := staticBusybox()
	if err != nil {
		return err
	}
	layer, err := busyboxLayer(busybox)
	if err != nil {
		return err
	}
	a := &imageArchive{blobs: map[string][]byte{}}
	if err := a.add(busyboxImage, layer, []string{"/bin/sh"}); err != nil {
		return err
	}
	if err := a.add(pauseImage, layer, []string{"/bin/sleep", "infinity"}); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return a.write(file)
}

// busyboxLayer has a link for each program that busybox is.
func busyboxLayer(path string) ([]byte, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", path, err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	headers := []tar.Header{
		{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "etc/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
		{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755, Size: int64(len(program))},
	}
	for _, name := range strings.Fields(string(names)) {
		if name != "busybox" {
			headers = append(headers, tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777})
		}
	}
	for i := range headers {
		if err := w.WriteHeader(&headers[i]); err != nil {
			return nil, err
		}
		if headers[i].Typeflag == tar.TypeReg {
			if _, err := w.Write(program); err != nil {
				return nil, err
			}
		}
	}
	return layer.Bytes(), w.Close()
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// imageArchive is an OCI image layout: https://github.com/opencontainers/image-spec.
type imageArchive struct {
	blobs  map[string][]byte // by file name
	images []descriptor
}

const imageMediaType = "application/vnd.oci.image."

func (a *imageArchive) blob(kind string, content []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	a.blobs["blobs/sha256/"+sum] = content
	return descriptor{MediaType: imageMediaType + kind, Digest: "sha256:" + sum, Size: len(content)}
}

// add makes an image of one layer.
func (a *imageArchive) add(name string, layer []byte, command []string) error {
	bottom := a.blob("layer.v1.tar", layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Cmd": command, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{bottom.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageMediaType + "manifest.v1+json",
		"config": a.blob("config.v1+json", config), "layers": []descriptor{bottom},
	})
	if err != nil {
		return err
	}
	image := a.blob("manifest.v1+json", manifest)
	// containerd's own annotation for the name under which it keeps an image.
	image.Annotations = map[string]string{"io.containerd.image.name": name}
	a.images = append(a.images, image)
	return nil
}

func (a *imageArchive) write(to io.Writer) error {
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageMediaType + "index.v1+json", "manifests": a.images,
	})
	if err != nil {
		return err
	}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index}
	for name, content := range a.blobs {
		files[name] = content
	}
	w := tar.NewWriter(to)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return w.Close()
}
