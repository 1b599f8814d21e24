from glob import glob

from setuptools import setup

setup(
    name="memetik_ros",
    version="0.2.0",
    packages=["memetik_ros"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/memetik_ros"]),
        ("share/memetik_ros", ["package.xml"]),
        ("share/memetik_ros/launch", glob("launch/*")),
        ("share/memetik_ros/config", glob("config/*")),
    ],
    install_requires=["memetik[ros,motion]"],
    entry_points={"console_scripts": ["node = memetik_ros.node:main"]},
)
