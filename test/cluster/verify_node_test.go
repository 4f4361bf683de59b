// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestRealNodeLeavesNothing: a real node is removed completely, by a normal stop, and by down and
// up after a supervisor was killed whose containers survived.
func TestRealNodeLeavesNothing(t *testing.T) {
	if os.Getenv("PINTLE_NODE") == "" {
		t.Skip("PINTLE_NODE is not set; `make test-node` sets it")
	}
	before := quietMachine(t)
	c := newTestCluster(t)
	upWithPod := func() record {
		rec := c.up(t, "--node")
		c.kubectl(t, sleepingPod, "apply", "-f", "-")
		c.wait(t, "--for=condition=Ready", "pod/sleep")
		return rec
	}
	kill := func(rec record) {
		if err := rec.process(supervisorName).signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for name := range rec.PIDs {
			if !rec.process(name).gone(patience) {
				t.Fatalf("%s has outlived the supervisor", name)
			}
		}
		if len((request{State: c.state}).shims()) == 0 {
			t.Fatal("the container has not outlived its supervisor, so that nothing is left to take down")
		}
	}

	upWithPod()
	if during := machineState(t); during == before {
		t.Fatalf("a real node is not seen:\n%s", during)
	}
	c.down(t)
	if after := quietMachine(t); after != before {
		t.Errorf("an ended node has left something behind; before:\n%s\nafter:\n%s", before, after)
	}
	kill(upWithPod())
	kill(upWithPod())
	c.down(t)
	if after := quietMachine(t); after != before {
		t.Errorf("a killed node has left something behind; before:\n%s\nafter:\n%s", before, after)
	}
}

const sleepingPod = `apiVersion: v1
kind: Pod
metadata: {name: sleep}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "` + busyboxImage + `", command: [sleep, "600"]}]
`

// quietMachine is machineState while no other cluster has a real node.
func quietMachine(t *testing.T) string {
	t.Helper()
	var lock *os.File
	eventually(t, lockPatience, "no other real node", func() (free bool) {
		var err error
		lock, err = tryLock(machineLockPath())
		return err == nil
	})
	defer lock.Close()
	return machineState(t)
}

// machineState describes the state that a real node changes on the machine.
func machineState(t *testing.T) string {
	t.Helper()
	var lines []string
	if err := eachMount(func(kind, target string) {
		if kind != "cgroup" && (strings.Contains(target, "/"+nodeFolder+"/containerd") || strings.Contains(target, "/"+nodeFolder+"/kubelet") || strings.Contains(target, "netns")) {
			lines = append(lines, "mount "+target)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		"/sys/fs/cgroup/pintle-node-*", "/sys/fs/cgroup/*/pintle-node-*",
		"/var/log/containers/*", "/run/containerd/s/*", "/sys/class/net/veth*",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, found...)
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		// A zombie has no command line.
		if line, _ := os.ReadFile(path); bytes.Contains(line, []byte(nodeFolder+"/containerd.sock")) {
			lines = append(lines, string(line))
		}
	}
	for _, name := range sysctls() {
		value, _ := os.ReadFile(filepath.Join("/proc/sys", name))
		lines = append(lines, name+" "+string(value))
	}
	return strings.Join(append(lines, fmt.Sprint("address ", hasNodeIP())), "\n")
}

func TestMountedFoldersAreNotRemoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	state := t.TempDir()
	precious, target := t.TempDir(), filepath.Join(state, nodeFolder, "volume")
	file := filepath.Join(precious, "file")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.MkdirAll(target, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(precious, target, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("mounting is not possible here: %v", err)
	}
	defer func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) }()
	if err := removeState(state); err == nil || !strings.Contains(err.Error(), target) {
		t.Errorf("error %v does not name the mount", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the mounted directory was emptied: %v", err)
	}
	if err := unmountBelow(filepath.Join(state, nodeFolder)); err != nil {
		t.Fatal(err)
	}
	if err := removeState(state); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestImagesAreAnOCILayout(t *testing.T) {
	a := &imageArchive{blobs: map[string][]byte{}}
	for _, name := range []string{busyboxImage, pauseImage} {
		if err := a.add(name, []byte("layer"), []string{"run", name}); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	if err := a.write(&archive); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(&archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, image := range index.Manifests {
		names = append(names, image.Annotations["io.containerd.image.name"])
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		if err := json.Unmarshal(files[blobName(image)], &manifest); err != nil {
			t.Fatal(err)
		}
		for _, part := range append(manifest.Layers, manifest.Config) {
			if got := len(files[blobName(part)]); got != part.Size {
				t.Errorf("%s has %d bytes, want %d", part.Digest, got, part.Size)
			}
		}
	}
	if want := []string{busyboxImage, pauseImage}; !slices.Equal(names, want) {
		t.Errorf("the images are %q, want %q", names, want)
	}
}

func blobName(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
