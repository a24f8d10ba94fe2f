"""What the machines and our processes on them use, as Ray's own exporter counts it.

prometheus-client counts no process where several of them share one page. Ray has a process on every machine that
looks at all others and at the GPUs, and shows it on a page that the job `ray` reads: nothing of ours has to run for it.
"""

from __future__ import annotations

from deploy.grafana.board import Board, Row
from deploy.grafana.panel import RED, YELLOW, Limit, Line, Panel

REPLICAS = 'Component=~"ray::ServeReplica:errata:.+"'


def _by_part(metric: str) -> str:
    """Ray names a process by its deployment, with a dot and more behind it while the process starts."""
    part = f'label_replace({metric}{{{REPLICAS}}}, "part", "$1", "Component", "ray::ServeReplica:errata:([^.]+).*")'
    return f"sum by (ip, part) ({part})"


MACHINES = Row(
    "Machines",
    (
        Panel(
            "Processor",
            "Of all cores together.",
            "percent",
            (Line("max by (ip) (ray_node_cpu_utilization)", "{{ip}}"),),
            limits=(Limit(90, RED),),
        ),
        Panel(
            "Memory",
            "Share that is used, of the container's where it has a limit.",
            "percentunit",
            (Line("max by (ip) (ray_node_mem_used) / max by (ip) (ray_node_mem_total)", "{{ip}}"),),
            limits=(Limit(0.8, YELLOW), Limit(0.9, RED)),
        ),
        Panel(
            "Disk",
            "Share that is used, of the disk with Ray's temporary folder.",
            "percent",
            (Line("max by (ip) (ray_node_disk_utilization_percentage)", "{{ip}}"),),
            limits=(Limit(80, YELLOW), Limit(90, RED)),
        ),
        Panel(
            "Network",
            "Bytes a second.",
            "Bps",
            (
                Line("max by (ip) (ray_node_network_receive_speed)", "{{ip}} in"),
                Line("max by (ip) (ray_node_network_send_speed)", "{{ip}} out"),
            ),
        ),
        Panel(
            "Disk traffic",
            "Bytes a second.",
            "Bps",
            (
                Line("max by (ip) (ray_node_disk_io_read_speed)", "{{ip}} read"),
                Line("max by (ip) (ray_node_disk_io_write_speed)", "{{ip}} written"),
            ),
        ),
    ),
)

PARTS = Row(
    "Parts of the service",
    (
        Panel(
            "Processor, by part",
            "100 is one core.",
            "percent",
            (Line(_by_part("ray_component_cpu_percentage"), "{{part}} {{ip}}"),),
            "area",
        ),
        Panel(
            "Memory, by part",
            "Resident, what processes share counted for each.",
            "bytes",
            (Line(_by_part("ray_component_rss_bytes"), "{{part}} {{ip}}"),),
            "area",
        ),
        Panel(
            "Open files",
            "Sockets included.",
            "none",
            (Line(_by_part("ray_component_num_fds"), "{{part}} {{ip}}"),),
        ),
    ),
)

GPUS = Row(
    "GPUs, where there are any",
    (
        Panel(
            "GPU: processor",
            "Of each GPU.",
            "percent",
            (Line("max by (ip, GpuIndex) (ray_node_gpus_utilization)", "{{ip}} GPU {{GpuIndex}}"),),
        ),
        Panel(
            "GPU: memory",
            "Share that is used.",
            "percentunit",
            (
                Line(
                    "max by (ip, GpuIndex) (ray_node_gram_used) / (max by (ip, GpuIndex) (ray_node_gram_used)"
                    " + max by (ip, GpuIndex) (ray_node_gram_available))",
                    "{{ip}} GPU {{GpuIndex}}",
                ),
            ),
            limits=(Limit(0.9, RED),),
        ),
        Panel(
            "GPU: temperature",
            "Above some 85 °C a GPU slows itself down.",
            "celsius",
            (Line("max by (ip, GpuIndex) (ray_node_gpu_temperature_celsius)", "{{ip}} GPU {{GpuIndex}}"),),
            limits=(Limit(85, RED),),
        ),
    ),
)

HARDWARE = Board(
    "hardware",
    "Hardware",
    "What the machines and the service's processes on them use.",
    (MACHINES, PARTS, GPUS),
)
