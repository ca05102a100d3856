"""The long list: vision models of transformers, each class with a tiny configuration (see tiny.py)."""

from __future__ import annotations

import transformers as hf

from .inputs import floats
from .tiny import Row, add_classes

NAMES = """
    Aimv2VisionModel BeitBackbone BeitForImageClassification BeitModel CLIPForImageClassification CLIPVisionModel
    ChineseCLIPVisionModel ConvNextBackbone ConvNextForImageClassification ConvNextModel ConvNextV2Backbone
    ConvNextV2ForImageClassification ConvNextV2Model DINOv3ConvNextBackbone DINOv3ConvNextModel DINOv3ViTBackbone
    DINOv3ViTModel DPTModel Data2VecVisionForImageClassification Data2VecVisionModel DeiTForImageClassification
    DeiTForImageClassificationWithTeacher DeiTForMaskedImageModeling DeiTModel Dinov2Backbone
    Dinov2ForImageClassification Dinov2Model Dinov2WithRegistersBackbone Dinov2WithRegistersForImageClassification
    Dinov2WithRegistersModel DonutSwinModel FocalNetBackbone FocalNetForImageClassification
    FocalNetForMaskedImageModeling FocalNetModel GLPNModel GraniteDoclingVisionModel HieraBackbone
    HieraForImageClassification HieraModel IJepaForImageClassification IJepaModel Idefics3VisionTransformer
    InternVLVisionModel MLCDVisionModel MaskFormerModel MaskFormerSwinBackbone MaskFormerSwinModel
    MetaClip2ForImageClassification MgpstrForSceneTextRecognition MobileNetV2ForImageClassification MobileNetV2Model
    MobileViTForImageClassification MobileViTModel PPLCNetBackbone PPLCNetForImageClassification PPLCNetV4Backbone
    PPOCRV6SmallRecModel PPOCRV6TinyRecModel PixioBackbone PixioModel PixtralVisionModel PoolFormerModel
    PvtV2ForImageClassification PvtV2Model QianfanOCRVisionModel RTDetrResNetBackbone RadioModel
    RegNetForImageClassification RegNetModel ResNetBackbone ResNetForImageClassification ResNetModel
    RfDetrDinov2Backbone RfDetrForObjectDetection RfDetrModel Sam3ViTModel Sam3VisionModel SamHQVisionModel
    SamVisionModel Sapiens2Backbone Sapiens2Model SegformerForImageClassification SegformerForSemanticSegmentation
    SegformerModel SiglipForImageClassification SiglipVisionModel SmolVLMVisionTransformer
    SuperPointForKeypointDetection SwiftFormerForImageClassification SwiftFormerModel SwinBackbone SwinModel
    Swinv2Backbone Swinv2ForImageClassification Swinv2ForMaskedImageModeling Swinv2Model Tipsv2VisionBackbone
    Tipsv2VisionModel ViTForImageClassification ViTForMaskedImageModeling ViTMAEModel ViTMSNForImageClassification
    ViTMSNModel ViTModel VideoPrismForVideoClassification VideoPrismVisionModel VitDetBackbone VitDetModel
"""

FILM = floats(2, 4, 3, 32, 32)


def resnet(*stages: str) -> hf.ResNetConfig:
    """A backbone that gives the named stages."""
    return hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 16, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=list(stages),
    )


LAST_STAGE = Row({"backbone_config": resnet("stage4")})
ROWS: dict[str, Row] = {
    "TimesformerForVideoClassification": Row({}, {"pixel_values": FILM}),
    "VideoMAEForVideoClassification": Row({}, {"pixel_values": FILM}),
    "VivitForVideoClassification": Row({"tubelet_size": [2, 8, 8]}, {"pixel_values": FILM}),
    "DetrForObjectDetection": LAST_STAGE,
    "ConditionalDetrForObjectDetection": LAST_STAGE,
    "DabDetrForObjectDetection": LAST_STAGE,
    "TableTransformerForObjectDetection": LAST_STAGE,
    "DeformableDetrForObjectDetection": Row({"backbone_config": resnet("stage2", "stage3", "stage4")}),
    "DepthAnythingForDepthEstimation": Row(
        {
            "backbone_config": hf.Dinov2Config(
                hidden_size=32, num_hidden_layers=4, num_attention_heads=4, mlp_ratio=2, image_size=32, patch_size=8,
                out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False,
            ),
            "reassemble_hidden_size": 32, "patch_size": 8, "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 8, "head_hidden_size": 8,
        },
        {"pixel_values": floats(1, 3, 32, 32)},
    ),
}  # fmt: skip

add_classes(NAMES, ROWS)
