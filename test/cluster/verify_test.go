// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binVariable is the folder of cluster build. If it is not set, the tests of this file are skipped;
// otherwise any error in the folder fails them.
const binVariable = "PINTLE_CLUSTER_BIN"

// testCluster drives the built launcher as a user would, through its commands.
type testCluster struct {
	bin, state, kubeconfig string
}

func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	bin := os.Getenv(binVariable)
	if bin == "" {
		t.Skip(binVariable + " is not set")
	}
	dir := t.TempDir()
	return &testCluster{bin: bin, state: filepath.Join(dir, "state"), kubeconfig: filepath.Join(dir, "kubeconfig")}
}

func (c *testCluster) launcher(args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(c.bin, "cluster"), args...)
}

// up sets the test as parent process, so that an aborted test leaves nothing.
func (c *testCluster) up(t *testing.T, flags ...string) record {
	t.Helper()
	began := time.Now()
	args := []string{"up", "--kubeconfig", c.kubeconfig, "--state", c.state, "--parent", fmt.Sprint(os.Getpid())}
	out, err := c.launcher(append(args, flags...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	t.Logf("up in %s", time.Since(began).Round(100*time.Millisecond))
	t.Cleanup(func() { c.down(t) })
	rec, err := readRecord(c.state)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func (c *testCluster) down(t *testing.T) {
	t.Helper()
	began := time.Now()
	if out, err := c.launcher("down", "--state", c.state).CombinedOutput(); err != nil {
		t.Errorf("down: %v\n%s", err, out)
	}
	t.Logf("down in %s", time.Since(began).Round(100*time.Millisecond))
}

func (c *testCluster) try(stdin string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *testCluster) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := c.try(stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func eventually(t *testing.T, within time.Duration, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !check(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func TestVerifyTwoClustersSideBySide(t *testing.T) {
	first, second := newTestCluster(t), newTestCluster(t)
	one, two := first.up(t), second.up(t, "--nodes", "3")
	if one.PortBase == two.PortBase {
		t.Fatalf("both use port base %d", one.PortBase)
	}
	first.kubectl(t, "", "create", "namespace", "only-in-first")
	if out, err := second.try("", "get", "namespace", "only-in-first"); err == nil {
		t.Errorf("the second cluster has the first one's namespace: %s", out)
	}
	nodes := second.kubectl(t, "", "get", "nodes", "-o", "name")
	if got := len(strings.Fields(nodes)); got != 3 {
		t.Errorf("the second cluster has %d nodes, want 3", got)
	}
	out, err := first.launcher("up", "--kubeconfig", first.kubeconfig, "--state", first.state).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is running in "+first.state+" already") {
		t.Errorf("a second up in the same state directory: %v\n%s", err, out)
	}
	other := newTestCluster(t)
	out, err = other.launcher("up", "--kubeconfig", other.kubeconfig, "--state", other.state,
		"--port-base", fmt.Sprint(one.PortBase)).CombinedOutput()
	want := fmt.Sprintf("port %d (etcd) is in use", one.PortBase)
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), want) {
		t.Errorf("up on taken ports does not say %q in one line: %v\n%s", want, err, out)
	}
	first.kubectl(t, "", "get", "--raw", "/readyz")
}

func TestVerifyNothingSurvivesTheSupervisor(t *testing.T) {
	c := newTestCluster(t)
	rec := c.up(t, "--source-controller")
	if len(rec.PIDs) != 7 {
		t.Fatalf("processes: %v", rec.PIDs)
	}
	if err := rec.process(supervisorName).signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for name := range rec.PIDs {
		if !rec.process(name).gone(patience) {
			t.Errorf("%s (process %d) survived", name, rec.PIDs[name])
		}
	}
	c.up(t) // the state directory is free again
}

func TestVerifyParent(t *testing.T) {
	c := newTestCluster(t)
	parent := exec.Command("sleep", "600")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	rec := c.up(t, "--parent", fmt.Sprint(parent.Process.Pid))
	// The process is not waited for yet: a zombie counts as ended.
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for name := range rec.PIDs {
		if !rec.process(name).gone(patience) {
			t.Errorf("%s (process %d) survived its parent", name, rec.PIDs[name])
		}
	}
	_ = parent.Wait()
	for _, path := range []string{c.state, c.kubeconfig} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

func TestVerifyKilledComponentComesBackOnRestart(t *testing.T) {
	c := newTestCluster(t)
	rec := c.up(t)
	c.kubectl(t, "", "create", "configmap", "kept")
	if err := rec.process(apiServer).signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	supervisorLog := func() string {
		data, err := os.ReadFile(filepath.Join(rec.LogDir, "supervisor.log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	eventually(t, patience, "the end of kube-apiserver in supervisor.log", func() bool {
		return strings.Contains(supervisorLog(), "kube-apiserver (process "+fmt.Sprint(rec.PIDs[apiServer])+") ended unexpectedly: signal: killed")
	})
	for name := range rec.PIDs {
		if name != apiServer && !rec.process(name).alive() {
			t.Errorf("%s ended with the API server", name)
		}
	}
	if out, err := c.launcher("restart", "--state", c.state).CombinedOutput(); err != nil {
		t.Fatalf("restart: %v\n%s", err, out)
	}
	c.kubectl(t, "", "get", "configmap", "kept")
}

func TestVerifyFailedStartNamesTheComponent(t *testing.T) {
	c := newTestCluster(t)
	bin, err := filepath.Abs(c.bin)
	if err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	for _, name := range []string{etcd, apiServer, controllerManager, scheduler, "stages"} {
		if err := os.Symlink(filepath.Join(bin, name), filepath.Join(broken, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho no nodes today\nexit 4\n"
	if err := os.WriteFile(filepath.Join(broken, kwok), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := c.launcher("up", "--bin", broken, "--kubeconfig", c.kubeconfig, "--state", c.state).CombinedOutput()
	if err == nil {
		c.down(t)
		t.Fatal("up succeeded")
	}
	for _, want := range []string{"kwok ended: exit status 4", "no nodes today", "kwok.log"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
	rec, err := readRecord(c.state)
	if err != nil {
		t.Fatal(err)
	}
	for name := range rec.PIDs {
		if !rec.process(name).gone(patience) {
			t.Errorf("%s (process %d) is left", name, rec.PIDs[name])
		}
	}
}

func TestVerifySourceController(t *testing.T) {
	c := newTestCluster(t)
	audit := filepath.Join(t.TempDir(), "audit.log")
	rec := c.up(t, "--source-controller", "--audit-log", audit)
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/index.yaml" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "apiVersion: v1\nentries:\n  demo:\n  - {apiVersion: v2, name: demo, version: 1.0.0, urls: [demo-1.0.0.tgz]}\n")
	}))
	defer repository.Close()
	c.kubectl(t, manifest("source.toolkit.fluxcd.io/v1", "HelmRepository", "demo",
		map[string]any{"url": repository.URL, "interval": "1m"}), "apply", "-f", "-")
	began := time.Now()
	c.kubectl(t, "", "wait", "--timeout=30s", "--for=condition=Ready", "helmrepository/demo")
	t.Logf("HelmRepository ready in %s", time.Since(began).Round(10*time.Millisecond))
	url := c.kubectl(t, "", "get", "helmrepository", "demo", "-o", "jsonpath={.status.artifact.url}")
	if !strings.HasPrefix(url, "http://"+rec.SourceAddress+"/") {
		t.Errorf("the artifact is at %s, want it at %s", url, rec.SourceAddress)
	}
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "demo-1.0.0.tgz") {
		t.Errorf("the artifact: %v\n%s", err, body)
	}
	noted, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]bool{
		`"userAgent":"kubectl/`: true, `"resource":"helmrepositories"`: true, `"stage":"RequestReceived"`: false, `"requestObject"`: false,
	} {
		if strings.Contains(string(noted), what) != want {
			t.Errorf("the audit log has %s: %v, want %v", what, !want, want)
		}
	}
}
